//! The Prometheus exporter: `GET /metrics` on an address of its own, where one is configured.

use std::net::SocketAddr;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};

use crate::catalogue::{CATALOGUE, Kind, describe};
use crate::error::DaemonError;

/// Serves this process's metrics on `addr`; with `None` nothing is recorded. Once in a process, inside of a tokio runtime.
///
/// The page has no access control: give it a loopback or management address.
pub fn serve_metrics(addr: Option<SocketAddr>) -> Result<(), DaemonError> {
    let Some(addr) = addr else { return Ok(()) };
    let failed = |error: metrics_exporter_prometheus::BuildError| DaemonError::Metrics {
        addr,
        reason: error.to_string(),
    };
    let mut builder = PrometheusBuilder::new().with_http_listener(addr);
    for metric in CATALOGUE {
        if let Kind::Histogram(buckets) = metric.kind {
            let matcher = Matcher::Full(metric.name.into());
            builder = builder.set_buckets_for_metric(matcher, buckets).map_err(failed)?;
        }
    }
    builder.install().map_err(failed)?;
    describe();
    tracing::info!(%addr, "metrics are served");
    Ok(())
}
