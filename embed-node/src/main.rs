//! The embed-node process: settings file → service → server. `sextant-embed [SETTINGS]`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use sextant_daemon::{LogOptions, describe, run, serve_metrics, start_log};
use sextant_embed::{EmbedService, NodeSettings};
use sextant_transport::{Server, ServerOptions};

const SETTINGS_FILE: &str = "/etc/sextant/embed.toml";
/// What requests under way are given at the end.
const DRAIN: Duration = Duration::from_secs(20);

#[tokio::main]
async fn main() -> ExitCode {
    if let Err(error) = start_log(&LogOptions::default()) {
        // Without a log there is only the exit code; the message still goes where a supervisor looks.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{error}\n").as_bytes());
        return ExitCode::FAILURE;
    }
    let file = std::env::args_os().nth(1).map_or_else(|| PathBuf::from(SETTINGS_FILE), PathBuf::from);
    match serve(file).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(file: PathBuf) -> anyhow::Result<()> {
    let settings = NodeSettings::load(&file)?;
    serve_metrics(settings.metrics)?;
    describe();
    let bind = async {
        let identity = settings.identity()?;
        let (listen, org_key) = (settings.listen, settings.org_key()?);
        let load = tokio::task::spawn_blocking(move || EmbedService::open(&settings));
        let service = Arc::new(load.await.context("loading the models ended early")??);
        let options = ServerOptions { org_key: Some(org_key), ..ServerOptions::default() };
        let server = Server::bind(listen, &identity, service.routes(), options)?;
        tracing::info!(listen = %server.local_addr(), "embed-node is up");
        anyhow::Ok(server)
    };
    run(bind, DRAIN, Server::shutdown).await?;
    Ok(())
}
