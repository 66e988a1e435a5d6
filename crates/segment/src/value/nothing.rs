//! A column of the type that has only NULL.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, NullArray};
use basalt_base::{Error, Result};

use super::numbers::no_value;
use super::store::{ColumnStore, StoreBuilder};
use crate::file::{ComponentReader, PendingComponent};
use crate::{ROWS_MAX, Rank};

pub(super) const ENCODING: &str = "nothing";

pub(super) struct NothingBuilder {
    component: PendingComponent,
    count: u64,
}

impl NothingBuilder {
    pub(super) fn new(component: PendingComponent) -> NothingBuilder {
        NothingBuilder { component, count: 0 }
    }
}

impl StoreBuilder for NothingBuilder {
    fn push(&mut self, values: &ArrayRef) -> Result<()> {
        self.count += values.len() as u64;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<PendingComponent>> {
        let mut component = self.component;
        component.number(self.count);
        Ok(vec![component])
    }
}

#[derive(Debug)]
pub(super) struct Nothing(u32);

impl Nothing {
    pub(super) fn open(component: &mut ComponentReader<'_>) -> Result<Nothing> {
        u32::try_from(component.number_to(ROWS_MAX)?).map(Nothing).map_err(Error::logical)
    }
}

impl ColumnStore for Nothing {
    fn len(&self) -> u32 {
        self.0
    }

    fn take(&self, ranks: &[Rank]) -> Result<ArrayRef> {
        match ranks.iter().find(|&&rank| rank >= self.0) {
            Some(&rank) => Err(no_value(rank, self.0)),
            None => Ok(Arc::new(NullArray::new(ranks.len()))),
        }
    }

    fn scan(&self, ranks: Range<Rank>) -> Result<ArrayRef> {
        match ranks.start <= ranks.end && ranks.end <= self.0 {
            true => Ok(Arc::new(NullArray::new(ranks.len()))),
            false => Err(no_value(ranks.end, self.0)),
        }
    }

    fn stored_bytes(&self) -> u64 {
        0
    }
}
