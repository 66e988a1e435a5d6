//! Blocks that a client sends beside the rows of an INSERT: external tables of a query, and the rest of the
//! rows of an INSERT that failed.

use std::sync::Arc;
use std::time::Duration;

use basalt_engine::{Error, ErrorCode, ExternalTable, Result};
use basalt_wire::native::{DataReader, EndOfData, read_end_of_data};

use super::conversation::feed;
use super::pipe::{PipeReader, pipe};
use super::protocol::Client;
use super::upload::LIMITS;
use crate::connections::broken_off;
use crate::shared::Shared;

/// How long a client may pause between a statement and the block that ends its external tables.
const PATIENCE: Duration = Duration::from_secs(300);

/// The external tables of one statement, in memory.
const TABLES_BYTES_MAX: usize = 1 << 30;

/// Reads the external tables that follow a statement. The inner error is one of the statement.
pub(super) async fn read(
    shared: &Arc<Shared>,
    client: &mut Client,
    is_compressed: bool,
) -> Result<Result<Vec<ExternalTable>>> {
    let end = client.channel.message(PATIENCE, |bytes| {
        let start = *bytes;
        let end = read_end_of_data(&mut *bytes, is_compressed)?;
        if end == EndOfData::NotYet {
            *bytes = start;
        }
        Ok(end)
    });
    match end.await? {
        None => Err(broken_off()),
        Some(EndOfData::Reached) => Ok(Ok(Vec::new())),
        Some(EndOfData::NotYet) => blocks(shared, client, is_compressed, collect).await,
    }
}

/// Reads and forgets the rest of a client's blocks.
pub(super) async fn skip(shared: &Arc<Shared>, client: &mut Client, is_compressed: bool) -> Result<()> {
    blocks(shared, client, is_compressed, |mut reader| {
        while next(&mut reader)?.is_some() {}
        Ok(Ok(()))
    })
    .await
    .map(|_| ())
}

type Blocks = DataReader<PipeReader>;

/// Runs `work` on a thread that may block, over the blocks that the client sends.
async fn blocks<T: Send + 'static>(
    shared: &Arc<Shared>,
    client: &mut Client,
    is_compressed: bool,
    work: impl FnOnce(Blocks) -> Result<Result<T>> + Send + 'static,
) -> Result<Result<T>> {
    let (writer, reader) = pipe();
    let blocks = DataReader::new(reader, client.revision, is_compressed, LIMITS)?;
    let working = shared.queries.spawn_blocking(move || work(blocks));
    feed(&mut client.channel, writer.pieces).await?;
    if let Ok(leftover) = writer.leftover.await {
        client.channel.put_back(&leftover.bytes);
    }
    working.await.map_err(|panic| Error::logical(format!("reading blocks ended early: {panic}")))?
}

fn next(blocks: &mut Blocks) -> Result<Option<basalt_wire::native::DataBlock>> {
    let block = blocks.next_block();
    let state = blocks.state();
    blocks.input_mut().set_state(state);
    block
}

/// The blocks as tables. Blocks that are too large for memory are skipped.
fn collect(mut blocks: Blocks) -> Result<Result<Vec<ExternalTable>>> {
    let mut tables: Vec<ExternalTable> = Vec::new();
    let (mut bytes, mut refused) = (0, None);
    while let Some(block) = next(&mut blocks)? {
        bytes += block.rows.get_array_memory_size();
        if bytes > TABLES_BYTES_MAX {
            tables.clear();
            let what = format!("the external tables of a statement take more than {TABLES_BYTES_MAX} bytes");
            refused = Some(Error::new(ErrorCode::LimitExceeded, what));
            continue;
        }
        match tables.iter_mut().find(|table| table.name == block.table) {
            Some(table) => table.blocks.push(block.rows),
            None => tables.push(ExternalTable {
                name: block.table,
                columns: block.columns,
                blocks: vec![block.rows],
            }),
        }
    }
    Ok(refused.map_or(Ok(tables), Err))
}
