//! Lists: where each one begins among the elements of all, which are a column store of their own.
//!
//! # Layout
//!
//! The numbers and sections of [`Offsets`]. The elements are the nested component `elements`.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::FieldRef;
use basalt_base::{Error, ErrorCode, Result, query};

use super::numbers::no_value;
use super::store::{ColumnStore, OpenNested, StoreBuilder};
use crate::bits::{Offsets, OffsetsBuilder};
use crate::file::{ComponentReader, PendingComponent, SpoolPlace};
use crate::{ROWS_MAX, Rank};

pub(super) const ENCODING: &str = "list";
/// The name of the nested component.
pub(super) const ELEMENTS: &str = "elements";

/// Rows between checks of the query.
const CHECKED_ROWS: usize = 4096;

pub(super) struct ListBuilder {
    component: PendingComponent,
    offsets: OffsetsBuilder,
    elements: Box<dyn StoreBuilder>,
}

impl ListBuilder {
    pub(super) fn new(
        component: PendingComponent,
        elements: Box<dyn StoreBuilder>,
        place: &SpoolPlace,
    ) -> ListBuilder {
        ListBuilder { component, offsets: OffsetsBuilder::new(place), elements }
    }
}

impl StoreBuilder for ListBuilder {
    fn push(&mut self, values: &ArrayRef) -> Result<()> {
        let lists = values.as_list_opt::<i32>().ok_or_else(|| Error::logical("lists have lists"))?;
        let offsets = lists.offsets();
        let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else { return Ok(()) };
        let before = self.offsets.end();
        for pair in offsets.windows(2) {
            self.offsets.push(before + u64::from((pair[1] - first).unsigned_abs()))?;
        }
        if self.offsets.end() > ROWS_MAX {
            return Err(Error::new(
                ErrorCode::TooLargeArraySize,
                format!("the lists of a column of a segment have more than {ROWS_MAX} elements"),
            ));
        }
        let (first, last) = (first.unsigned_abs() as usize, last.unsigned_abs() as usize);
        self.elements.push(&lists.values().slice(first, last - first))
    }

    fn finish(self: Box<Self>) -> Result<Vec<PendingComponent>> {
        let mut component = self.component;
        self.offsets.finish(&mut component)?;
        let nested = self.elements.finish()?;
        component.raw_bytes = nested.first().map_or(0, |own| own.raw_bytes);
        Ok(std::iter::once(component).chain(nested).collect())
    }
}

#[derive(Debug)]
pub(super) struct Lists {
    offsets: Offsets,
    elements: Arc<dyn ColumnStore>,
    element: FieldRef,
}

impl Lists {
    pub(super) fn open(
        component: &mut ComponentReader<'_>,
        element: &FieldRef,
        nested: OpenNested<'_>,
    ) -> Result<Lists> {
        let offsets = Offsets::open(component)?;
        let elements = nested(ELEMENTS, element.data_type())?;
        match offsets.end() == u64::from(elements.len()) {
            true => Ok(Lists { offsets, elements, element: Arc::clone(element) }),
            false => {
                let what = format!("lists of {} elements, but there are {}", offsets.end(), elements.len());
                Err(component.place().corrupt(what))
            }
        }
    }

    /// The ranks of a list's elements, of which no list has more than there are.
    fn place(&self, rank: Rank) -> Result<Range<Rank>> {
        let range = self.offsets.range(rank)?;
        Ok(rank_of(range.start)?..rank_of(range.end)?)
    }

    fn array(&self, ends: Vec<i32>, elements: ArrayRef) -> Result<ArrayRef> {
        // A store gives as many elements as it was asked for, and the ends were made in order.
        let offsets = OffsetBuffer::new(ends.into());
        let lists = ListArray::try_new(Arc::clone(&self.element), offsets, elements, None);
        Ok(Arc::new(lists.map_err(Error::logical)?))
    }
}

impl ColumnStore for Lists {
    fn len(&self) -> u32 {
        self.offsets.len()
    }

    fn take(&self, ranks: &[Rank]) -> Result<ArrayRef> {
        let (mut ends, mut asked) = (Vec::with_capacity(ranks.len() + 1), Vec::new());
        ends.push(0);
        for ranks in ranks.chunks(CHECKED_ROWS) {
            query::checkpoint()?;
            for &rank in ranks {
                let place = self.place(rank)?;
                ends.push(end_of(asked.len() as u64 + place.len() as u64)?);
                asked.extend(place);
            }
        }
        self.array(ends, self.elements.take(&asked)?)
    }

    fn scan(&self, ranks: Range<Rank>) -> Result<ArrayRef> {
        if ranks.start > ranks.end || ranks.end > self.len() {
            return Err(no_value(ranks.end, self.len()));
        }
        let mut boundaries = Vec::with_capacity(ranks.len() + 1);
        self.offsets.boundaries(ranks, &mut boundaries)?;
        let first = boundaries.first().copied().unwrap_or(0);
        let ends = boundaries.iter().map(|&boundary| end_of(boundary - first)).collect::<Result<Vec<_>>>()?;
        let last = boundaries.last().copied().unwrap_or(0);
        self.array(ends, self.elements.scan(rank_of(first)?..rank_of(last)?)?)
    }

    fn stored_bytes(&self) -> u64 {
        self.offsets.stored_bytes() + self.elements.stored_bytes()
    }
}

fn rank_of(place: u64) -> Result<Rank> {
    Rank::try_from(place).map_err(Error::logical)
}

/// The end of a list in an array.
fn end_of(elements: u64) -> Result<i32> {
    i32::try_from(elements).map_err(|_| {
        Error::new(
            ErrorCode::TooLargeArraySize,
            format!("{elements} elements are too many for one block of lists"),
        )
    })
}
