//! TLS 1.3 with certificates on both sides, and the bounds of a QUIC connection.

use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{IdleTimeout, TransportConfig, VarInt};
use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;

use crate::error::TransportError;
use crate::identity::Identity;

/// Unread bytes that one connection may have in this side's memory.
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// Unread bytes of one stream; half a frame, so that one stream cannot fill the connection's window.
const STREAM_WINDOW_BYTES: u32 = 4 << 20;

fn failed(error: impl std::fmt::Display) -> TransportError {
    TransportError::Certificate(error.to_string())
}

fn roots(identity: &Identity) -> Result<Arc<RootCertStore>, TransportError> {
    let mut roots = RootCertStore::empty();
    roots.add(identity.root().clone()).map_err(failed)?;
    Ok(Arc::new(roots))
}

/// Bounds of a connection: silence until it is given up, streams that the other side may open, and keep-alive.
pub(crate) fn transport(
    idle: Duration,
    streams: u32,
    keep_alive: Option<Duration>,
) -> Result<Arc<TransportConfig>, TransportError> {
    let idle = IdleTimeout::try_from(idle)
        .map_err(|error| TransportError::Setting { name: "idle", reason: error.to_string() })?;
    let mut config = TransportConfig::default();
    config
        .max_idle_timeout(Some(idle))
        .keep_alive_interval(keep_alive)
        .max_concurrent_bidi_streams(VarInt::from_u32(streams))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW_BYTES))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW_BYTES));
    Ok(Arc::new(config))
}

/// The server's half.
pub(crate) fn server(
    identity: &Identity,
    alpn: &[u8],
    transport: Arc<TransportConfig>,
) -> Result<quinn::ServerConfig, TransportError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots(identity)?, Arc::clone(&provider))
        .build()
        .map_err(failed)?;
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(failed)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(identity.chain(), identity.key())
        .map_err(failed)?;
    tls.alpn_protocols = vec![alpn.to_vec()];
    let mut config =
        quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).map_err(failed)?));
    config.transport_config(transport);
    Ok(config)
}

/// The client's half.
pub(crate) fn client(
    identity: &Identity,
    alpn: &[u8],
    transport: Arc<TransportConfig>,
) -> Result<quinn::ClientConfig, TransportError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(failed)?
        .with_root_certificates(roots(identity)?)
        .with_client_auth_cert(identity.chain(), identity.key())
        .map_err(failed)?;
    tls.alpn_protocols = vec![alpn.to_vec()];
    let mut config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).map_err(failed)?));
    config.transport_config(transport);
    Ok(config)
}
