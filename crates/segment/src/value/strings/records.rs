//! Byte strings of any lengths by rank: what all stores of strings keep their encoded strings in.
//!
//! # Layout
//!
//! The numbers and sections of [`Offsets`], then a section of the records back to back.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::{ControlFlow, Range};

use basalt_base::query::checkpoint;
use basalt_base::{Error, Result};

use crate::Rank;
use crate::bits::{Offsets, OffsetsBuilder};
use crate::file::{Bytes, ComponentReader, PendingComponent, Spool, SpoolPlace};

/// Ranks whose records are prefetched before they are read.
const PREFETCHED_RANKS: usize = 64;
/// Ranks whose offsets are unpacked together.
const SCANNED_RANKS: Rank = 1 << 10;
/// Bytes that a scan reads at once, but for longer records.
const SCANNED_BYTES: u64 = 256 << 10;

/// Takes records in the order of ranks.
#[derive(Debug)]
pub(super) struct RecordsBuilder {
    offsets: OffsetsBuilder,
    bytes: Spool,
}

impl RecordsBuilder {
    pub(super) fn new(place: &SpoolPlace) -> RecordsBuilder {
        RecordsBuilder { offsets: OffsetsBuilder::new(place), bytes: place.spool() }
    }

    pub(super) fn push(&mut self, record: &[u8]) -> Result<()> {
        self.bytes.write(record)?;
        self.offsets.push(self.bytes.len())
    }

    pub(super) fn finish(self, component: &mut PendingComponent) -> Result<()> {
        self.offsets.finish(component)?;
        component.section(self.bytes);
        Ok(())
    }
}

/// Records by rank.
#[derive(Debug)]
pub(super) struct Records {
    offsets: Offsets,
    bytes: Bytes,
}

impl Records {
    pub(super) fn open(component: &mut ComponentReader<'_>) -> Result<Records> {
        let offsets = Offsets::open(component)?;
        let bytes = component.bytes()?;
        match offsets.end() == bytes.len() as u64 {
            true => Ok(Records { offsets, bytes }),
            false => Err(component.place().corrupt("its offsets end elsewhere than its bytes")),
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.offsets.len()
    }

    /// A record, in its mapping or read into `buffer`.
    #[inline]
    pub(super) fn get<'a>(&'a self, rank: Rank, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        let Range { start, end } = self.offsets.range(rank)?;
        self.bytes.read(position(start)?..position(end)?, buffer)
    }

    /// Visits the records of `ranks`, in that order.
    pub(super) fn take(&self, ranks: &[Rank], mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (mut places, mut buffer) = (Vec::with_capacity(ranks.len().min(PREFETCHED_RANKS)), Vec::new());
        for ranks in ranks.chunks(PREFETCHED_RANKS) {
            checkpoint()?;
            places.clear();
            for &rank in ranks {
                let Range { start, end } = self.offsets.range(rank)?;
                let place = position(start)?..position(end)?;
                self.bytes.prefetch(place.start);
                places.push(place);
            }
            for place in &places {
                visit(self.bytes.read(place.clone(), &mut buffer)?)?;
            }
        }
        Ok(())
    }

    /// Visits consecutive records until `visit` breaks.
    pub(super) fn scan(
        &self,
        ranks: Range<Rank>,
        mut visit: impl FnMut(Rank, &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let (mut boundaries, mut buffer) = (Vec::new(), Vec::new());
        let mut rank = ranks.start;
        while rank < ranks.end {
            checkpoint()?;
            let end = ranks.end.min(rank.saturating_add(SCANNED_RANKS));
            boundaries.clear();
            self.offsets.boundaries(rank..end, &mut boundaries)?;
            let mut rest = boundaries.as_slice();
            while let [start, _, ..] = *rest {
                let together =
                    rest.partition_point(|&end| end - start <= SCANNED_BYTES).saturating_sub(1).max(1);
                let piece = &rest[..=together];
                let bytes = self.bytes.read(position(start)?..position(piece[together])?, &mut buffer)?;
                for bounds in piece.windows(2) {
                    let [from, to] = [bounds[0] - start, bounds[1] - start].map(position);
                    if visit(rank, bytes.get(from?..to?).unwrap_or_default())?.is_break() {
                        return Ok(());
                    }
                    rank += 1;
                }
                rest = &rest[together..];
            }
        }
        Ok(())
    }

    pub(super) fn stored_bytes(&self) -> u64 {
        self.offsets.stored_bytes() + self.bytes.len() as u64
    }
}

fn position(offset: u64) -> Result<usize> {
    usize::try_from(offset).map_err(Error::logical)
}
