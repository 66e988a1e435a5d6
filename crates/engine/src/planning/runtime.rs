//! Running plans: a session of DataFusion, streams of blocks, and blocks for threads that may block.

use std::path::Path;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::query::in_query;
use basalt_base::{Error, Result};
use basalt_exec::error::from_datafusion;
use basalt_exec::session::{Rules, SessionLimits, session_state};
use basalt_planner::InverseLookup;
use datafusion::execution::SessionState;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream, execute_stream};
use futures::StreamExt;
use futures::executor::block_on;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::access_check::check_reads;
use super::join_algorithms::JoinAlgorithms;
use crate::execution::Execution;
use crate::provider::{
    CodedGroups, DirectJoins, DirectSources, KnownAggregates, LARGE_LOOKUPS, LateColumns, LateStrings,
};

/// Blocks that wait between a query and the thread that takes them.
const BLOCKS_WAITING: usize = 4;
/// KiB of these, unless one of them alone has more: strings may make a block of any size.
const WAITING_KIB_MAX: usize = 16 << 10;

/// The runtime that all queries share: it has the directory to spill to. Made once, since it creates directories.
pub(crate) fn shared_runtime(spill_dir: &Path) -> Result<RuntimeEnv> {
    let spill =
        DiskManagerBuilder::default().with_mode(DiskManagerMode::Directories(vec![spill_dir.to_owned()]));
    RuntimeEnvBuilder::new().with_disk_manager_builder(spill).build().map_err(from_datafusion)
}

/// DataFusion's session for one query: its threads, its memory, its place to spill.
pub(crate) fn session(query: &Execution) -> Result<SessionState> {
    let runtime = Arc::new(RuntimeEnv {
        memory_pool: Arc::clone(&query.memory) as Arc<dyn MemoryPool>,
        ..query.instance.shared_runtime.clone()
    });
    let limits = SessionLimits {
        target_partitions: query.threads(),
        batch_rows: query.settings.max_block_size.clamp(1, 1 << 20) as usize,
    };
    let join_algorithms = JoinAlgorithms::parse(&query.settings.join_algorithm)?;
    let mut rules = Rules {
        first: vec![Arc::new(KnownAggregates)],
        plan: Vec::new(),
        last: Vec::new(),
        early: vec![Arc::new(CodedGroups)],
        late: vec![Arc::new(DirectSources), Arc::new(LateStrings), Arc::new(LARGE_LOOKUPS)],
    };
    if query.settings.optimize_inverse_dictionary_lookup {
        rules.plan.push(Arc::new(InverseLookup));
    }
    if join_algorithms.direct {
        rules
            .last
            .push(Arc::new(DirectJoins { only: join_algorithms.only_direct, threads: query.threads() }));
    }
    if query.settings.query_plan_optimize_lazy_materialization {
        rules.late.push(Arc::new(LateColumns));
    }
    session_state(limits, runtime, rules)
}

/// A plan's operators, and the session that they were chosen in.
pub(crate) struct Physical {
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    state: SessionState,
}

impl Physical {
    /// Optimizes a plan and chooses its operators. Called from a thread that may block, because choosing what to read
    /// of a table may read from disk.
    pub(crate) fn of(query: &Execution, plan: &LogicalPlan) -> Result<Physical> {
        check_reads(query, plan)?;
        let state = session(query)?;
        let plan = block_on(state.create_physical_plan(plan)).map_err(from_datafusion)?;
        Ok(Physical { plan, state })
    }

    /// Starts the operators.
    pub(crate) fn stream(self) -> Result<SendableRecordBatchStream> {
        execute_stream(self.plan, self.state.task_ctx()).map_err(from_datafusion)
    }
}

/// Starts a plan.
pub(crate) async fn stream(query: &Arc<Execution>, plan: &LogicalPlan) -> Result<SendableRecordBatchStream> {
    let plan = plan.clone();
    query.on_blocking_thread("planning", move |query| Physical::of(query, &plan)).await?.stream()
}

/// The next block, or the error that ends the query: its own, its cancellation, its deadline.
pub(crate) async fn next_block(
    query: &Execution,
    stream: &mut SendableRecordBatchStream,
) -> Result<Option<RecordBatch>> {
    let deadline = query.end.deadline().map(tokio::time::Instant::from_std);
    let expired = async {
        match deadline {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = query.end.cancel.cancelled() => Err(query.end.cancelled()),
        () = expired => Err(query.end.timed_out()),
        block = stream.next() => {
            query.status().check_memory(0)?;
            block.transpose().map_err(from_datafusion)
        }
    }
}

/// All blocks of a plan.
pub(crate) async fn collect(query: &Arc<Execution>, plan: &LogicalPlan) -> Result<Vec<RecordBatch>> {
    let mut stream = stream(query, plan).await?;
    let mut blocks = Vec::new();
    while let Some(block) = next_block(query, &mut stream).await? {
        blocks.push(block);
    }
    Ok(blocks)
}

/// The blocks of a running plan for a thread that may block: an iterator.
pub(crate) struct BlockingBlocks {
    receiver: mpsc::Receiver<Result<WaitingBlock>>,
}

struct WaitingBlock {
    block: RecordBatch,
    _room: OwnedSemaphorePermit,
}

impl Iterator for BlockingBlocks {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        Some(self.receiver.blocking_recv()?.map(|waiting| waiting.block))
    }
}

/// Starts a plan on the engine's runtime; the blocks are taken by a thread that may block.
pub(crate) fn run_to_blocks(query: &Arc<Execution>, plan: LogicalPlan) -> BlockingBlocks {
    let (sender, receiver) = mpsc::channel(BLOCKS_WAITING);
    let runtime = query.services.runtime.clone();
    let (query, status) = (Arc::clone(query), Arc::clone(query.status()));
    let send = async move {
        if let Err(error) = send_blocks(&query, &plan, &sender).await {
            // The receiver may be gone.
            let _ = sender.send(Err(error)).await;
        }
    };
    runtime.spawn(in_query(Some(status), send));
    BlockingBlocks { receiver }
}

async fn send_blocks(
    query: &Arc<Execution>,
    plan: &LogicalPlan,
    sender: &mpsc::Sender<Result<WaitingBlock>>,
) -> Result<()> {
    let mut stream = stream(query, plan).await?;
    let room = Arc::new(Semaphore::new(WAITING_KIB_MAX));
    while let Some(block) = next_block(query, &mut stream).await? {
        let kib = (block.get_array_memory_size() >> 10).min(WAITING_KIB_MAX) as u32;
        let room = Arc::clone(&room).acquire_many_owned(kib).await.map_err(Error::logical)?;
        if sender.send(Ok(WaitingBlock { block, _room: room })).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}
