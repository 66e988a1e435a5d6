//! The rows of an INSERT, as the engine asks for them.

use basalt_engine::{BlockSource, Columns, Error, ErrorCode, OpenBlocks, Result};
use basalt_formats::native::BlockLimits;
use basalt_wire::native::{DataReader, DataState, PacketWriter};
use tokio::sync::mpsc;

use super::answer::Event;
use super::pipe::{PipeReader, pipe};

/// The limits of a client's block.
pub(super) const LIMITS: BlockLimits = BlockLimits { bytes_max: 4 << 30 };

/// What an INSERT needs to get its rows from the client.
pub(super) struct Upload {
    pub(super) events: mpsc::Sender<Event>,
    pub(super) writer: PacketWriter,
    pub(super) revision: u64,
    pub(super) is_compressed: bool,
}

impl OpenBlocks for Upload {
    /// Sends the columns of the table. The client answers with its blocks.
    fn open(self: Box<Self>, columns: &Columns) -> Result<Box<dyn BlockSource>> {
        let mut head = Vec::new();
        self.writer.table_columns(columns, &mut head);
        self.writer.header(columns, &mut head)?;
        let (sender, reader) = pipe();
        for event in [Event::Bytes(head), Event::Upload(sender)] {
            self.events.blocking_send(event).map_err(|_| gone())?;
        }
        let blocks = DataReader::new(reader, self.revision, self.is_compressed, LIMITS)?;
        Ok(Box::new(Rows { blocks, events: self.events, writer: self.writer, unanswered: None }))
    }
}

/// The rows, block by block.
struct Rows {
    blocks: DataReader<PipeReader>,
    events: mpsc::Sender<Event>,
    writer: PacketWriter,
    /// The rows of the block that the client has no answer to.
    unanswered: Option<u64>,
}

impl Rows {
    /// Tells the client that its last block was taken.
    fn answer(&mut self, rows: u64) -> Result<()> {
        let mut packet = Vec::new();
        self.writer.insert_events(rows, &mut packet)?;
        self.events.blocking_send(Event::Bytes(packet)).map_err(|_| gone())
    }
}

impl BlockSource for Rows {
    fn next_block(&mut self) -> Result<Option<(Columns, basalt_engine::RecordBatch)>> {
        if let Some(rows) = self.unanswered.take() {
            self.answer(rows)?;
        }
        let block = self.blocks.next_block();
        let state = self.blocks.state();
        self.blocks.input_mut().set_state(state);
        match block? {
            Some(block) => {
                self.unanswered = Some(block.rows.num_rows() as u64);
                Ok(Some((block.columns, block.rows)))
            }
            None => {
                if state == DataState::Ended {
                    self.answer(0)?;
                }
                Ok(None)
            }
        }
    }
}

pub(super) fn gone() -> Error {
    Error::new(ErrorCode::NetworkError, "the client disconnected")
}
