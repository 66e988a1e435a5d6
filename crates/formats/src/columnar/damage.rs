//! The border between the libraries of Arrow and Parquet and us: what damaged bytes make of them is an error.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use basalt_base::{Error, ErrorCode, Result};

use crate::block::{Block, BlockReader};

/// A reader whose panics are errors.
pub(super) struct Guarded<R> {
    reader: R,
    format: &'static str,
}

impl<R: BlockReader> Guarded<R> {
    pub(super) fn new(reader: R, format: &'static str) -> Guarded<R> {
        Guarded { reader, format }
    }
}

impl<R: BlockReader> BlockReader for Guarded<R> {
    fn next_block(&mut self) -> Result<Option<Block>> {
        caught(self.format, || self.reader.next_block())
    }
}

/// Runs `read`, which decodes bytes of a file in `format`.
///
/// The libraries check most of what they read, but slice buffers, divide by lengths and unwrap fields of metadata in
/// places that damaged bytes reach. Their panics end here, so that a file cannot end the query with a logical error.
pub(super) fn caught<T>(format: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    // Whoever gets the error drops the reader: nobody sees a state that the panic left half changed.
    let done = catch_unwind(AssertUnwindSafe(read));
    done.unwrap_or_else(|_| Err(damaged(format, "its lengths or its metadata contradict each other")))
}

pub(super) fn damaged(format: &str, what: impl Display) -> Error {
    Error::new(ErrorCode::IncorrectData, format!("the {format} data are damaged: {what}"))
}
