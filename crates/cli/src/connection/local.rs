//! An engine in this process.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use basalt_engine::{
    CancelHandle, Engine, EngineOptions, Outcome, ProgressSnapshot, QueryResult, Request, Session,
};
use tokio::runtime::Runtime;

use super::interrupt::Interrupt;
use super::{Connection, Finished, Statement};
use crate::arguments::Settings;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::ProgressLine;

pub(crate) struct LocalConnection {
    // Declared before the runtime: the session may need the runtime when it is dropped.
    session: Session,
    engine: Arc<Engine>,
    parameters: HashMap<String, String>,
    interrupt: Interrupt,
    runtime: Runtime,
}

impl LocalConnection {
    pub(crate) fn open(options: EngineOptions, settings: Settings) -> Result<LocalConnection, Failure> {
        let runtime = crate::commands::runtime()?;
        let engine = {
            let _inside = runtime.enter();
            Engine::open(options)?
        };
        let mut session = engine.session();
        for (name, value) in &settings.settings {
            session.set(name, value)?;
        }
        let parameters = settings.parameters;
        Ok(LocalConnection { session, engine, parameters, interrupt: Interrupt::default(), runtime })
    }

    /// Writes buffered data and unlocks the directory.
    pub(crate) fn close(self) {
        let LocalConnection { session, engine, runtime, .. } = self;
        drop(session);
        runtime.block_on(engine.shutdown());
        drop(engine);
        crate::commands::end(runtime);
    }
}

impl Connection for LocalConnection {
    fn run(
        &mut self,
        statement: Statement,
        output: &mut Output,
        progress: &mut ProgressLine,
    ) -> Result<Finished, Failure> {
        let LocalConnection { session, parameters, interrupt, runtime, .. } = self;
        let cancel = CancelHandle::default();
        let request = Request {
            input: statement.input,
            parameters: parameters.clone(),
            default_format: statement.default_format,
            cancel: cancel.clone(),
            ..Request::new(statement.text)
        };
        let running = Running { cancel, interrupt, progress, started: Instant::now() };
        runtime.block_on(running.run(session, request, output))
    }

    fn completions(&mut self) -> Vec<String> {
        self.session.completions()
    }
}

/// A running statement.
struct Running<'a> {
    cancel: CancelHandle,
    interrupt: &'a mut Interrupt,
    progress: &'a mut ProgressLine,
    started: Instant,
}

impl Running<'_> {
    async fn run(
        mut self,
        session: &mut Session,
        request: Request,
        output: &mut Output,
    ) -> Result<Finished, Failure> {
        self.interrupt.arm().map_err(|e| Failure::output(&e))?;
        self.progress.start();
        let outcome = {
            let Running { cancel, interrupt, progress, .. } = &mut self;
            let tick = || progress.show(&ProgressSnapshot::default());
            interrupt.watch(session.execute(request), tick, || cancel.cancel()).await
        };
        let finished = match outcome {
            Ok(Outcome::Done(summary)) => Ok((false, summary.progress)),
            Ok(Outcome::Rows(rows)) => self.fetch(*rows, output).await.map(|figures| (true, figures)),
            Err(error) => Err(error.into()),
        };
        self.progress.clear();
        let (has_rows, figures) = finished?;
        Ok(Finished { has_rows, figures, elapsed: self.started.elapsed() })
    }

    async fn fetch(&mut self, rows: QueryResult, output: &mut Output) -> Result<ProgressSnapshot, Failure> {
        let Running { cancel, interrupt, progress, .. } = self;
        let figures = rows.progress();
        let mut sink = output.begin(rows.into_outfile())?;
        let mut bytes = rows.into_bytes()?;
        loop {
            let tick = || progress.show(&figures.snapshot());
            let piece = interrupt.watch(bytes.next(), tick, || cancel.cancel()).await?;
            let Some(piece) = piece else { break };
            progress.clear();
            if let Err(error) = sink.write(&piece) {
                cancel.cancel();
                return Err(error);
            }
        }
        sink.finish()?;
        Ok(figures.snapshot())
    }
}
