//! Nested ranges as a sorted list of places: finds the innermost range around a place.

use basalt_base::Result;

use crate::image::{ImageReader, ImageWriter};
use crate::values::{Number, Numbers};

/// From each start to the next one, the innermost range is the same.
pub(super) struct FlatRanges<T> {
    starts: Numbers<T>,
    /// The number of the range from the start on; `NO_RANGE` if there is none.
    numbers: Numbers<u32>,
}

const NO_RANGE: u32 = u32::MAX;

pub(super) trait Place: Number + Ord {
    /// The start of the next range; `None` after the last one.
    fn next(self) -> Option<Self>;
}

impl Place for u32 {
    fn next(self) -> Option<u32> {
        self.checked_add(1)
    }
}

impl Place for u128 {
    fn next(self) -> Option<u128> {
        self.checked_add(1)
    }
}

impl<T: Place> FlatRanges<T> {
    /// Builds the list from ranges (first, last, number) that are disjoint or nested. They are in order, outer ranges
    /// before inner ones.
    pub(super) fn new(ranges: impl Iterator<Item = (T, T, u32)>) -> FlatRanges<T> {
        let mut places = Vec::new();
        let mut open: Vec<(T, u32)> = Vec::new();
        for (first, last, number) in ranges {
            close(&mut places, &mut open, Some(first));
            push(&mut places, first, number);
            open.push((last, number));
        }
        close(&mut places, &mut open, None);
        FlatRanges {
            starts: places.iter().map(|&(start, _)| start).collect(),
            numbers: places.iter().map(|&(_, number)| number).collect(),
        }
    }

    /// The number of starts.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The number of the innermost range around a place.
    pub(super) fn find(&self, place: T) -> Option<u32> {
        let before = self.starts.partition_point(|_| Ok(()), |start| start <= place).ok()?;
        self.number_at(before.checked_sub(1)?)
    }

    /// [`FlatRanges::find`]; compares the checksums of what it reads.
    pub(super) fn find_checked(&self, place: T) -> Result<Option<u32>> {
        let check = |at: usize| self.starts.check(at..at + 1);
        let Some(at) = self.starts.partition_point(check, |start| start <= place)?.checked_sub(1) else {
            return Ok(None);
        };
        self.numbers.check(at..at + 1)?;
        Ok(self.number_at(at))
    }

    fn number_at(&self, at: usize) -> Option<u32> {
        self.numbers.get(at).filter(|&number| number != NO_RANGE)
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.number(self.len() as u64);
        self.starts.save(image)?;
        self.numbers.save(image)
    }

    /// Opens what [`FlatRanges::save`] wrote.
    pub(super) fn open(image: &mut ImageReader<'_>) -> Result<FlatRanges<T>> {
        let len = image.count()?;
        Ok(FlatRanges { starts: Numbers::open(len, image)?, numbers: Numbers::open(len, image)? })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.starts.heap_bytes() + self.numbers.heap_bytes()
    }
}

/// Ends the ranges that end before `until`.
fn close<T: Place>(places: &mut Vec<(T, u32)>, open: &mut Vec<(T, u32)>, until: Option<T>) {
    while let Some(&(last, _)) = open.last() {
        if until.is_some_and(|until| last >= until) {
            return;
        }
        open.pop();
        if let Some(next) = last.next() {
            push(places, next, open.last().map_or(NO_RANGE, |&(_, number)| number));
        }
    }
}

fn push<T: Place>(places: &mut Vec<(T, u32)>, start: T, number: u32) {
    places.pop_if(|&mut (last, _)| last == start);
    places.push((start, number));
}
