//! An engine in the process of the test, in a temporary directory.

use std::sync::Arc;
use std::time::Duration;

use basalt_engine::{Engine, EngineOptions, Error, Outcome, Request, Session};
use tokio::runtime::{Builder, Runtime};

/// The stack size of threads, as in the program.
const THREAD_STACK_BYTES: usize = 32 << 20;

/// Words that no error message may contain.
const FOREIGN_WORDS: &[&str] = &[
    "DataFusion",
    "Arrow",
    "Schema error",
    "schema error",
    "physical plan",
    "Error during planning",
    "Execution error",
    "Optimizer rule",
    "RecordBatch",
    "BinaryView",
    "bug in Basalt",
    "panicked",
];

/// An open engine and the threads that it runs on.
pub struct InProcess {
    runtime: Runtime,
    engine: Arc<Engine>,
}

impl InProcess {
    pub fn open(options: EngineOptions) -> InProcess {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.enable_all().thread_stack_size(THREAD_STACK_BYTES).build().expect("a runtime");
        let engine = {
            let _inside = runtime.enter();
            Engine::open(options).expect("a temporary database opens")
        };
        InProcess { runtime, engine }
    }

    pub fn session(&self) -> Session {
        self.engine.session()
    }

    /// The bytes of the answer; `None` if the statement has no result set.
    pub fn answer(&self, session: &mut Session, request: Request) -> Result<Option<Vec<u8>>, Error> {
        self.runtime.block_on(answer(session, request))
    }

    /// The same; `None` if it takes longer than `time`.
    pub fn answer_within(
        &self,
        time: Duration,
        session: &mut Session,
        request: Request,
    ) -> Option<Result<Option<Vec<u8>>, Error>> {
        self.runtime.block_on(async { tokio::time::timeout(time, answer(session, request)).await.ok() })
    }

    /// Runs a statement to its end, and returns the names of its columns.
    pub fn columns(&self, session: &mut Session, statement: &str) -> Result<Vec<String>, Error> {
        self.runtime.block_on(async {
            let Outcome::Rows(mut rows) = session.execute(Request::new(statement)).await? else {
                return Ok(Vec::new());
            };
            while rows.next().await?.is_some() {}
            Ok(rows.columns().iter().map(|column| column.name.clone()).collect())
        })
    }

    /// The result of work on a session.
    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub fn shutdown(&self) {
        self.runtime.block_on(self.engine.shutdown());
    }
}

async fn answer(session: &mut Session, request: Request) -> Result<Option<Vec<u8>>, Error> {
    let Outcome::Rows(rows) = session.execute(request).await? else { return Ok(None) };
    let mut bytes = rows.into_bytes()?;
    let mut text = Vec::new();
    while let Some(piece) = bytes.next().await? {
        text.extend_from_slice(&piece);
    }
    Ok(Some(text))
}

/// A forbidden word in the error message, if there is one.
pub fn foreign_word(error: &Error) -> Option<&'static str> {
    FOREIGN_WORDS.iter().copied().find(|word| error.message().contains(word))
}
