//! `basalt server`: the interfaces of a data directory, until the process is told to stop.

use std::io::Write;
use std::sync::Arc;

use basalt_engine::{Engine, EngineOptions, ErrorCode, VERSION};
use basalt_server::Server;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::arguments::{ServerOptions, Settings};
use crate::configuration;
use crate::failure::Failure;

pub(crate) fn run(options: ServerOptions, settings: Settings) -> Result<(), Failure> {
    let (engine, server) = configuration::merge(options, settings)?;
    let runtime = super::runtime()?;
    let done = runtime.block_on(serve(engine, server));
    super::end(runtime);
    done
}

async fn serve(
    engine_options: EngineOptions,
    server_options: basalt_server::ServerOptions,
) -> Result<(), Failure> {
    let path = engine_options.path.clone().unwrap_or_default();
    let (interrupt, terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let hangup = listen(SignalKind::hangup())?;
    let engine = Engine::open(engine_options)?;
    let server = Server::bind(Arc::clone(&engine), server_options).await?;
    engine.on_reload_config(Box::new(server.reload()));
    tokio::spawn(reload_on(hangup, server.reload()));
    let addresses = server.addresses().join(", ");
    say(&format!("Basalt {VERSION} is ready on {addresses}, its data is in {}", path.display()));
    server.run(told_to_stop(interrupt, terminate)).await?;
    say("Basalt has stopped");
    Ok(())
}

/// Reads the certificates again at each signal.
async fn reload_on(mut hangup: Signal, reload: impl Fn() -> basalt_engine::Result<()>) {
    while hangup.recv().await.is_some() {
        // The failure is in the log.
        let _ = reload();
    }
}

async fn told_to_stop(mut interrupt: Signal, mut terminate: Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    say("Basalt is stopping");
    // A second signal ends the process at once: acknowledged data is on disk.
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        std::process::exit(1);
    });
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|e| Failure::with_code(ErrorCode::CannotScheduleTask, format!("no signals: {e}")))
}

/// Prints a line to the log of the process.
pub(crate) fn say(line: &str) {
    // A server without standard error still serves.
    let _ = writeln!(std::io::stderr(), "{line}");
}
