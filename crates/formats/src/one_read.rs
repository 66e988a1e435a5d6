//! Reads One: one row with a zero, whatever the input has.

use arrow::array::{RecordBatch, UInt8Array};
use basalt_base::{Columns, Error, ErrorCode, Result, SqlType};
use std::sync::Arc;

use crate::block::{Block, BlockReader, Defaulted};

pub(crate) fn open(columns: &Columns) -> Result<Box<dyn BlockReader>> {
    if columns.len() != 1 || columns[0].ty != SqlType::UInt8 {
        let what = "format One reads one column of type UInt8";
        return Err(Error::new(ErrorCode::BadArguments, what));
    }
    let zero = Arc::new(UInt8Array::from(vec![0]));
    let batch = RecordBatch::try_new(columns.to_arrow(), vec![zero])
        .map_err(|error| Error::logical(format!("a zero is no batch: {error}")))?;
    Ok(Box::new(OneReader { block: Some(Block { batch, defaulted: vec![Defaulted::Never] }) }))
}

struct OneReader {
    block: Option<Block>,
}

impl BlockReader for OneReader {
    fn next_block(&mut self) -> Result<Option<Block>> {
        Ok(self.block.take())
    }
}
