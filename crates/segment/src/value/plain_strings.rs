//! Strings as they are, back to back.
//!
//! # Layout
//!
//! The numbers and sections of [`Offsets`], then a section with the bytes of all strings.
//!
//! # Cost
//!
//! About two bytes a string more than its own. A random read touches its offsets, which are resident, and its bytes.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::string_views::StringViews;
use basalt_base::{Error, ErrorCode, Result, query};

use super::numbers::no_value;
use super::store::{ColumnStore, StoreBuilder, StringStore};
use super::strings::input;
use crate::Rank;
use crate::bits::{Offsets, OffsetsBuilder};
use crate::file::{Bytes, ComponentReader, PendingComponent, Spool, SpoolPlace};

pub(super) const ENCODING: &str = "strings";

/// Strings whose bytes are prefetched before they are read.
const PREFETCHED_ROWS: usize = 64;
/// Strings that are read at a time by a scan.
const STRETCH: u32 = 1024;

pub(super) struct PlainStringsBuilder {
    component: PendingComponent,
    offsets: OffsetsBuilder,
    bytes: Spool,
}

impl PlainStringsBuilder {
    pub(super) fn new(component: PendingComponent, place: &SpoolPlace) -> PlainStringsBuilder {
        PlainStringsBuilder { component, offsets: OffsetsBuilder::new(place), bytes: place.spool() }
    }
}

impl StoreBuilder for PlainStringsBuilder {
    fn push(&mut self, values: &ArrayRef) -> Result<()> {
        input::for_each(values, |string| {
            self.bytes.write(string)?;
            self.offsets.push(self.bytes.len())
        })
    }

    fn finish(self: Box<Self>) -> Result<Vec<PendingComponent>> {
        let mut component = self.component;
        component.raw_bytes = self.bytes.len();
        self.offsets.finish(&mut component)?;
        component.section(self.bytes);
        Ok(vec![component])
    }
}

#[derive(Debug)]
pub(super) struct PlainStrings {
    offsets: Offsets,
    bytes: Bytes,
}

impl PlainStrings {
    pub(super) fn open(component: &mut ComponentReader<'_>) -> Result<PlainStrings> {
        let offsets = Offsets::open(component)?;
        let bytes = component.bytes()?;
        match offsets.end() == bytes.len() as u64 {
            true => Ok(PlainStrings { offsets, bytes }),
            false => {
                let what = format!("its strings end at {} of {} bytes", offsets.end(), bytes.len());
                Err(component.place().corrupt(what))
            }
        }
    }

    /// The bytes of a string. They are inside of the section, whose end [`PlainStrings::open`] has compared.
    #[inline]
    fn place(&self, rank: Rank) -> Result<Range<usize>> {
        let range = self.offsets.range(rank)?;
        Ok(position(range.start)?..position(range.end)?)
    }
}

impl ColumnStore for PlainStrings {
    fn len(&self) -> u32 {
        self.offsets.len()
    }

    fn take(&self, ranks: &[Rank]) -> Result<ArrayRef> {
        let (mut strings, mut buffer) = (StringViews::with_capacity(ranks.len()), Vec::new());
        let mut places = Vec::with_capacity(ranks.len().min(PREFETCHED_ROWS));
        for ranks in ranks.chunks(PREFETCHED_ROWS) {
            query::checkpoint()?;
            places.clear();
            for &rank in ranks {
                let place = self.place(rank)?;
                self.bytes.prefetch(place.start);
                places.push(place);
            }
            for place in &places {
                let string = self.bytes.read(place.clone(), &mut buffer)?;
                strings.append_copy(string, &[length(string.len() as u64)?]);
            }
        }
        Ok(Arc::new(strings.finish(None)))
    }

    fn scan(&self, ranks: Range<Rank>) -> Result<ArrayRef> {
        if ranks.start > ranks.end || ranks.end > self.len() {
            return Err(no_value(ranks.end, self.len()));
        }
        let (mut strings, mut buffer) = (StringViews::with_capacity(ranks.len()), Vec::new());
        let (mut boundaries, mut lengths) = (Vec::new(), Vec::new());
        let mut at = ranks.start;
        while at < ranks.end {
            query::checkpoint()?;
            let end = ranks.end.min(at.saturating_add(STRETCH));
            boundaries.clear();
            self.offsets.boundaries(at..end, &mut boundaries)?;
            let (Some(&first), Some(&last)) = (boundaries.first(), boundaries.last()) else { break };
            if last - first > u64::from(u32::MAX) {
                return self.take(&ranks.collect::<Vec<_>>());
            }
            lengths.clear();
            for pair in boundaries.windows(2) {
                lengths.push(length(pair[1] - pair[0])?);
            }
            let bytes = self.bytes.read(position(first)?..position(last)?, &mut buffer)?;
            strings.append_copy(bytes, &lengths);
            at = end;
        }
        Ok(Arc::new(strings.finish(None)))
    }

    fn as_strings(&self) -> Option<&dyn StringStore> {
        Some(self)
    }

    fn stored_bytes(&self) -> u64 {
        self.offsets.stored_bytes() + self.bytes.len() as u64
    }
}

impl StringStore for PlainStrings {
    fn append(&self, rank: Rank, out: &mut Vec<u8>) -> Result<()> {
        let mut buffer = Vec::new();
        out.extend_from_slice(self.bytes.read(self.place(rank)?, &mut buffer)?);
        Ok(())
    }
}

fn position(place: u64) -> Result<usize> {
    usize::try_from(place).map_err(Error::logical)
}

/// The length of a string of an array.
fn length(bytes: u64) -> Result<u32> {
    let too_long = |_| {
        Error::new(
            ErrorCode::TooLargeStringSize,
            format!("a string of {bytes} bytes is too long for a column"),
        )
    };
    u32::try_from(bytes).map_err(too_long)
}
