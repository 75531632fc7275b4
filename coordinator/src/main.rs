//! The coordinator process: settings file → store, meta group → server. `sextant-coordinator [SETTINGS]`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use sextant_coordinator::node::Coordinator;
use sextant_coordinator::settings::CoordinatorSettings;
use sextant_daemon::{LogOptions, load, run, serve_metrics, start_log};

const SETTINGS_FILE: &str = "/etc/sextant/coordinator.toml";
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
    let settings: CoordinatorSettings = load(&file)?;
    serve_metrics(settings.metrics)?;
    let bind = async {
        let node = Coordinator::start(settings.config()?, &settings.identity()?).await?;
        tracing::info!(listen = %node.local_addr(), "coordinator is up");
        let fatal = node.fatal();
        tokio::spawn(async move {
            tracing::error!("{}; this process ends, so that its supervisor starts it again", fatal.await);
            std::process::exit(70);
        });
        anyhow::Ok(node)
    };
    run(bind, DRAIN, Coordinator::shutdown).await?;
    Ok(())
}
