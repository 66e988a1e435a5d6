//! A position among the rows of a snapshot, which moves in both directions.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use basalt_base::Result;
use basalt_kv::{ByteRange, Direction};

use crate::ordered::OrderedRows;
use crate::snapshot::Snapshot;

/// The rows of a snapshot. It begins at no row: seek first. A step beyond either end leaves it at no row, and so does
/// an error, which [`RawRows::status`] returns.
///
/// # Cost
///
/// Rows are read in blocks in one direction. A change of direction begins to read anew.
pub struct RawRows {
    snapshot: Arc<Snapshot>,
    /// Positions of the key's column and of the value's.
    columns: [usize; 2],
    place: Option<Place>,
    failure: Option<basalt_base::Error>,
}

/// A row, and the rows after it in a direction.
struct Place {
    direction: Direction,
    batch: RecordBatch,
    row: usize,
    rest: OrderedRows,
}

impl RawRows {
    pub(super) fn new(snapshot: Arc<Snapshot>, key: usize, value: usize) -> RawRows {
        RawRows { snapshot, columns: [key, value], place: None, failure: None }
    }

    /// Whether it is at a row.
    pub fn is_valid(&self) -> bool {
        self.place.is_some()
    }

    pub fn seek_to_first(&mut self) {
        self.begin(ByteRange::default(), Direction::Ascending);
    }

    pub fn seek_to_last(&mut self) {
        self.begin(ByteRange::default(), Direction::Descending);
    }

    /// Moves to the first key that is not before `key`.
    pub fn seek(&mut self, key: &[u8]) {
        self.begin(ByteRange { lower: key.to_vec(), upper: None }, Direction::Ascending);
    }

    /// Moves to the next key. At no row it does nothing.
    pub fn next(&mut self) {
        self.step(Direction::Ascending);
    }

    /// Moves to the previous key. At no row it does nothing.
    pub fn prev(&mut self) {
        self.step(Direction::Descending);
    }

    /// `None` at no row.
    pub fn key(&self) -> Option<&[u8]> {
        self.column(0)
    }

    /// `None` at no row.
    pub fn value(&self) -> Option<&[u8]> {
        self.column(1)
    }

    /// The error that left it at no row, if it was one.
    pub fn status(&self) -> Result<()> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    fn column(&self, at: usize) -> Option<&[u8]> {
        let place = self.place.as_ref()?;
        Some(place.batch.column(at).as_binary_view().value(place.row))
    }

    fn begin(&mut self, range: ByteRange, direction: Direction) {
        self.failure = None;
        let rest = self.snapshot.ordered(&range, &self.columns, direction);
        let place = rest.and_then(|rest| Place::first(rest, direction));
        self.set(place);
    }

    fn set(&mut self, place: Result<Option<Place>>) {
        self.place = place.unwrap_or_else(|error| {
            self.failure = Some(error);
            None
        });
    }

    fn step(&mut self, direction: Direction) {
        let Some(place) = self.place.take() else { return };
        if place.direction == direction {
            let next = place.next();
            return self.set(next);
        }
        let mut key = place.batch.column(0).as_binary_view().value(place.row).to_vec();
        let range = match direction {
            Direction::Ascending => {
                // The direct successor of the key.
                key.push(0);
                ByteRange { lower: key, upper: None }
            }
            // No key is before the empty one, and an empty bound would be none.
            Direction::Descending if key.is_empty() => return,
            Direction::Descending => ByteRange { lower: Vec::new(), upper: Some(key) },
        };
        self.begin(range, direction);
    }
}

impl Place {
    fn first(mut rest: OrderedRows, direction: Direction) -> Result<Option<Place>> {
        while let Some(batch) = rest.next() {
            let batch = batch?;
            if batch.num_rows() > 0 {
                return Ok(Some(Place { direction, batch, row: 0, rest }));
            }
        }
        Ok(None)
    }

    fn next(self) -> Result<Option<Place>> {
        let row = self.row + 1;
        if row < self.batch.num_rows() {
            return Ok(Some(Place { row, ..self }));
        }
        Place::first(self.rest, self.direction)
    }
}
