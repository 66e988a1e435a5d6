//! A store of records with any encoding.

use std::ops::{ControlFlow, Range};

use arrow::array::ArrayRef;
use basalt_base::Result;

use super::array::StringArray;
use super::encoding::RecordDecoder;
use super::records::Records;
use crate::Rank;
use crate::file::ComponentReader;
use crate::value::{ColumnStore, StringStore};

/// Strings by rank.
#[derive(Debug)]
pub(super) struct DecodedStrings<D> {
    pub(super) decoder: D,
    pub(super) records: Records,
}

impl<D: RecordDecoder> DecodedStrings<D> {
    /// Reads the records, the last part of a component.
    pub(super) fn open(decoder: D, mut component: ComponentReader<'_>) -> Result<DecodedStrings<D>> {
        let records = Records::open(&mut component)?;
        component.finish()?;
        Ok(DecodedStrings { decoder, records })
    }
}

impl<D: RecordDecoder> ColumnStore for DecodedStrings<D> {
    fn len(&self) -> u32 {
        self.records.len()
    }

    fn take(&self, ranks: &[Rank]) -> Result<ArrayRef> {
        let mut array = StringArray::with_capacity(ranks.len());
        self.records.take(ranks, |record| array.push(|out| self.decoder.append(record, out)))?;
        Ok(array.finish())
    }

    fn scan(&self, ranks: Range<Rank>) -> Result<ArrayRef> {
        let mut array = StringArray::with_capacity(ranks.len().min(self.len() as usize));
        self.records.scan(ranks, |_, record| {
            array.push(|out| self.decoder.append(record, out))?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(array.finish())
    }

    fn as_strings(&self) -> Option<&dyn StringStore> {
        Some(self)
    }

    fn stored_bytes(&self) -> u64 {
        self.decoder.stored_bytes() + self.records.stored_bytes()
    }
}

impl<D: RecordDecoder> StringStore for DecodedStrings<D> {
    fn append(&self, rank: Rank, out: &mut Vec<u8>) -> Result<()> {
        self.decoder.append(self.records.get(rank, &mut Vec::new())?, out)
    }
}
