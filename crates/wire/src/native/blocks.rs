//! Blocks within packets, of either side: how they are written, and their bytes as they are read.

use std::io::BufRead;

use arrow::array::RecordBatch;
use basalt_base::{Columns, Error, ErrorCode, Result};
use basalt_formats::native::{BlockDecoder, write_block, write_empty_block};

use crate::frame::{self, FrameReader, Method};
use crate::write::{put_text, put_varint};

/// The most bytes of a block's name.
pub(super) const NAME_BYTES_MAX: usize = 64 << 10;

/// A block.
#[derive(Clone, Debug)]
pub struct DataBlock {
    /// The external table to which the rows belong; empty for other rows.
    pub table: String,
    pub columns: Columns,
    pub rows: RecordBatch,
}

/// Writes packets that have a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockPackets {
    pub(super) revision: u64,
    /// The method of compressed blocks; `None` for blocks that are not in frames.
    pub(super) compression: Option<Method>,
}

impl BlockPackets {
    pub(super) fn put(
        self,
        packet: u64,
        columns: &Columns,
        rows: &RecordBatch,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.framed(packet, out, |out| write_block(columns, rows, self.revision, out))
    }

    /// A block without rows.
    pub(super) fn put_header(self, packet: u64, columns: &Columns, out: &mut Vec<u8>) -> Result<()> {
        self.framed(packet, out, |out| write_empty_block(columns, self.revision, out))
    }

    fn framed(
        self,
        packet: u64,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        put_head(packet, out);
        let Some(method) = self.compression else { return write(out) };
        let mut block = Vec::new();
        write(&mut block)?;
        frame::compress(&block, method, out)
    }
}

/// The packet's type and the empty name of its table.
pub(super) fn put_head(packet: u64, out: &mut Vec<u8>) {
    put_varint(out, packet);
    put_text(out, "");
}

/// The bytes of blocks, compressed or not.
pub(super) enum BlockBytes<R> {
    Plain(R),
    Compressed(FrameReader<R>),
}

impl<R: BufRead> BlockBytes<R> {
    pub(super) fn new(input: R, is_compressed: bool) -> BlockBytes<R> {
        match is_compressed {
            true => BlockBytes::Compressed(FrameReader::new(input)),
            false => BlockBytes::Plain(input),
        }
    }

    pub(super) fn raw(&mut self) -> &mut R {
        match self {
            BlockBytes::Plain(input) => input,
            BlockBytes::Compressed(frames) => frames.input_mut(),
        }
    }

    pub(super) fn block(&mut self, decoder: &mut BlockDecoder) -> Result<Option<(Columns, RecordBatch)>> {
        match self {
            BlockBytes::Plain(input) => decoder.read(input),
            BlockBytes::Compressed(frames) => {
                let block = decoder.read(frames)?;
                if !frames.is_drained() {
                    let what = "a compressed frame has more data than its block";
                    return Err(Error::new(ErrorCode::IncorrectData, what));
                }
                Ok(block)
            }
        }
    }
}
