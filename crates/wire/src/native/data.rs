//! The blocks that a client sends: rows of an INSERT, or external tables of a query.

use std::io::{BufRead, Read};

use basalt_base::{Error, ErrorCode, Result};
use basalt_formats::native::{BlockDecoder, BlockLimits};

use super::blocks::{BlockBytes, DataBlock, NAME_BYTES_MAX};
use super::client_packet::{CANCEL, DATA, SCALAR};
use crate::read::{ReadError, ReadPrimitives};

/// Reads the blocks of a client up to the empty one that ends them.
pub struct DataReader<R> {
    input: BlockBytes<R>,
    decoder: BlockDecoder,
    state: DataState,
}

/// Where a reader of blocks is in its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataState {
    /// Between two packets: the next one can be read.
    BetweenPackets,
    /// After the block that ends the data.
    Ended,
    /// Inside of a packet: nothing that follows can be understood.
    Broken,
}

impl<R: BufRead> DataReader<R> {
    pub fn new(input: R, revision: u64, is_compressed: bool, limits: BlockLimits) -> Result<DataReader<R>> {
        let input = BlockBytes::new(input, is_compressed);
        let decoder = BlockDecoder::new(revision, limits)?;
        Ok(DataReader { input, decoder, state: DataState::BetweenPackets })
    }

    /// The next block, or `None` after the end.
    pub fn next_block(&mut self) -> Result<Option<DataBlock>> {
        if self.state != DataState::BetweenPackets {
            return Ok(None);
        }
        self.state = DataState::Broken;
        let table = read_head(self.input.raw())?;
        let Some((columns, rows)) = self.input.block(&mut self.decoder)? else {
            return Err(ReadError::Incomplete(1).into_error("the data of a statement"));
        };
        let is_end = table.is_empty() && columns.is_empty() && rows.num_rows() == 0;
        self.state = if is_end { DataState::Ended } else { DataState::BetweenPackets };
        Ok((!is_end).then_some(DataBlock { table, columns, rows }))
    }

    pub fn state(&self) -> DataState {
        self.state
    }

    pub fn input_mut(&mut self) -> &mut R {
        self.input.raw()
    }
}

/// The packet's type and the name of its table.
fn read_head(input: &mut impl Read) -> Result<String> {
    let read = |input: &mut _| match ReadPrimitives::varint(input)? {
        DATA | SCALAR => ReadPrimitives::text(input, NAME_BYTES_MAX, "the name of a block"),
        CANCEL => {
            let what = "the client cancelled the statement while it sent its data";
            Err(ReadError::Failed(Error::new(ErrorCode::QueryWasCancelled, what)))
        }
        other => Err(crate::read::malformed(format!("packet {other} came in place of a block"))),
    };
    read(input).map_err(|error: ReadError| error.into_error("the data of a statement"))
}
