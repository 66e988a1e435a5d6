//! Splits FINAL into layers: ranges of the primary key that are merged independently, in parallel.
//!
//! Borders are only at the keys of first rows of granules. A granule that crosses a border is read for both layers,
//! and each skips the rows of the other, so all rows of a key are in one layer. Ranges in which only one part has
//! rows become layers of their own, because there is little to merge in them.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::row::RowConverter;

use super::borders::Borders;
use crate::error::Result;
use crate::key::primary::PrimaryIndex;
use crate::key::prune::MarkRanges;
use crate::key::row_format::decode;
use crate::part::view::Part;
use crate::spec::PartSpec;

/// The least granules of one part that become a layer of their own.
const EXCLUSIVE_GRANULES_MIN: usize = 8;

/// Some granules of a part.
#[derive(Clone, Debug)]
pub struct FinalInput {
    pub part: Arc<Part>,
    pub marks: MarkRanges,
    /// The position of the part's first row, if the scan returns each row's position as a last column: its index in
    /// the part plus this number. Set for all inputs of a scan, or for none.
    pub first_place: Option<u64>,
}

/// Rows that can be merged without those of other layers.
#[derive(Clone, Debug)]
pub struct FinalLayer {
    pub(super) inputs: Vec<FinalInput>,
    pub(super) borders: Borders,
}

impl FinalLayer {
    /// All rows of `inputs`.
    pub fn whole(inputs: Vec<FinalInput>) -> FinalLayer {
        FinalLayer { inputs, borders: Borders::default() }
    }
}

/// Splits `inputs`, which are of one snapshot, into layers of about `granules` granules.
pub fn final_layers(inputs: Vec<FinalInput>, granules: usize) -> Result<Vec<FinalLayer>> {
    let parts: Vec<&Arc<Part>> = inputs.iter().map(|input| &input.part).collect();
    let Some(order) = KeyOrder::of(&parts)? else { return Ok(vec![FinalLayer::whole(inputs)]) };
    let sorted = order.sorted(&inputs);
    let cuts = order.cuts(&sorted, granules);
    let borders = order.borders(&inputs[0].part.spec, &cuts)?;
    let mut layers = Vec::with_capacity(cuts.len() + 1);
    for at in 0..=cuts.len() {
        let (low, high) = (at.checked_sub(1), (at < cuts.len()).then_some(at));
        let key = |at: usize| cuts[at];
        let between =
            |input: usize, marks: &MarkRanges| order.between(input, marks, low.map(key), high.map(key));
        let inputs = inputs
            .iter()
            .enumerate()
            .map(|(input, all)| FinalInput { marks: between(input, &all.marks), ..all.clone() });
        let inputs: Vec<FinalInput> = inputs.filter(|input| input.marks.selected() > 0).collect();
        let border = |at: usize| Arc::clone(&borders[at]);
        let borders = Borders { low: low.map(border), high: high.map(border) };
        layers.push(FinalLayer { inputs, borders });
    }
    layers.retain(|layer| !layer.inputs.is_empty());
    Ok(layers)
}

/// Those of `all` granules of each part that may have a key of one of the `wanted` granules. These have all rows
/// that a query needs, with all other rows of their keys.
pub fn with_same_keys(
    parts: &[Arc<Part>],
    all: &[MarkRanges],
    wanted: &[MarkRanges],
) -> Result<Vec<MarkRanges>> {
    let Some(order) = KeyOrder::of(&parts.iter().collect::<Vec<_>>())? else { return Ok(all.to_vec()) };
    let mut stretches: Vec<(Key, Key)> = Vec::new();
    for (input, marks) in wanted.iter().enumerate() {
        let keys = marks
            .ranges
            .iter()
            .map(|range| (Key { input, mark: range.start }, Key { input, mark: range.end }));
        stretches.extend(keys);
    }
    stretches.sort_by(|a, b| order.compare(a.0, b.0));
    let mut joined: Vec<(Key, Key)> = Vec::new();
    for (start, end) in stretches {
        match joined.last_mut() {
            Some(last) if order.compare(start, last.1).is_le() => {
                if order.compare(end, last.1).is_gt() {
                    last.1 = end;
                }
            }
            _ => joined.push((start, end)),
        }
    }
    let kept = all.iter().enumerate().map(|(input, marks)| {
        let mut kept = MarkRanges::none(marks.total);
        for mark in marks.ranges.iter().flat_map(Clone::clone) {
            let (start, end) = (Key { input, mark }, Key { input, mark: mark + 1 });
            let first = joined.partition_point(|stretch| order.compare(stretch.1, start).is_lt());
            if joined.get(first).is_some_and(|stretch| order.compare(stretch.0, end).is_le()) {
                kept.push(mark);
            }
        }
        kept
    });
    Ok(kept.collect())
}

/// The key at a mark of input number `input`; after the last granule it is the key of the last row.
#[derive(Clone, Copy, Debug)]
struct Key {
    input: usize,
    mark: usize,
}

/// Compares keys at marks of different parts.
struct KeyOrder<'a> {
    indexes: Vec<&'a PrimaryIndex>,
    /// The direction of each element of the primary key.
    descending: Vec<bool>,
}

impl<'a> KeyOrder<'a> {
    /// `None` if a part has no index of the table's key, or there is no key.
    fn of(parts: &[&'a Arc<Part>]) -> Result<Option<KeyOrder<'a>>> {
        let Some(first) = parts.first() else { return Ok(None) };
        let descending: Vec<bool> =
            first.spec.primary_key().iter().map(|element| element.descending).collect();
        let has_index = |part: &&Arc<Part>| part.has_primary_key() && part.mark_count() > 0;
        if descending.is_empty() || !parts.iter().all(has_index) {
            return Ok(None);
        }
        let indexes = parts.iter().map(|part| part.primary()).collect::<Result<_>>()?;
        Ok(Some(KeyOrder { indexes, descending }))
    }

    fn value(&self, column: usize, key: Key) -> &[u8] {
        self.indexes[key.input].value(column, key.mark)
    }

    fn compare(&self, a: Key, b: Key) -> Ordering {
        let compared = self.descending.iter().enumerate().map(|(column, descending)| {
            let order = self.value(column, a).cmp(self.value(column, b));
            if *descending { order.reverse() } else { order }
        });
        compared.fold(Ordering::Equal, Ordering::then)
    }

    /// The granules in the order of the keys of their first rows.
    fn sorted(&self, inputs: &[FinalInput]) -> Vec<Key> {
        let marks = inputs.iter().enumerate().flat_map(|(input, all)| {
            all.marks.ranges.iter().flat_map(Clone::clone).map(move |mark| Key { input, mark })
        });
        let mut sorted: Vec<Key> = marks.collect();
        sorted.sort_by(|a, b| self.compare(*a, *b));
        sorted
    }

    /// The keys at which layers begin, except the first layer; they ascend.
    fn cuts(&self, sorted: &[Key], granules: usize) -> Vec<Key> {
        let runs = runs(&self.exclusive(sorted), sorted);
        let (mut cuts, mut since) = (Vec::new(), 0);
        for (at, key) in sorted.iter().enumerate() {
            let is_edge = at > 0 && runs[at] != runs[at - 1];
            let last = cuts.last().unwrap_or(&sorted[0]);
            if (is_edge || since >= granules) && self.compare(*key, *last).is_gt() {
                cuts.push(*key);
                since = 0;
            }
            since += 1;
        }
        cuts
    }

    /// For each granule, whether no other part has a granule that may share its keys.
    fn exclusive(&self, sorted: &[Key]) -> Vec<bool> {
        let mut ends: Vec<Option<Key>> = vec![None; self.indexes.len()];
        let mut exclusive = Vec::with_capacity(sorted.len());
        for (at, key) in sorted.iter().enumerate() {
            let end = Key { mark: key.mark + 1, ..*key };
            let is_over = |(input, other): (usize, &Option<Key>)| {
                input == key.input || other.is_none_or(|other| self.compare(other, *key).is_lt())
            };
            let comes_later = |next: &Key| next.input == key.input || self.compare(*next, end).is_gt();
            exclusive
                .push(ends.iter().enumerate().all(is_over) && sorted.get(at + 1).is_none_or(comes_later));
            ends[key.input] = Some(end);
        }
        exclusive
    }

    /// The granules of a part with keys from `low` on and below `high`.
    fn between(&self, input: usize, marks: &MarkRanges, low: Option<Key>, high: Option<Key>) -> MarkRanges {
        let mut between = MarkRanges::none(marks.total);
        for range in &marks.ranges {
            let key = |mark: usize| Key { input, mark };
            let point = |mut from: usize, is_before: &dyn Fn(usize) -> bool| {
                let mut to = range.end;
                while from < to {
                    let middle = from + (to - from) / 2;
                    if is_before(middle) { from = middle + 1 } else { to = middle }
                }
                from
            };
            let ends_below = |mark: usize| low.is_some_and(|low| self.compare(key(mark + 1), low).is_lt());
            let starts_below = |mark: usize| high.is_none_or(|high| self.compare(key(mark), high).is_lt());
            let start = point(range.start, &ends_below);
            let end = point(start, &starts_below);
            if start < end {
                between.ranges.push(start..end);
            }
        }
        between
    }

    /// The keys in the row format of the sorting key.
    fn borders(&self, spec: &PartSpec, keys: &[Key]) -> Result<Vec<Arc<[u8]>>> {
        let elements = spec.primary_key();
        let array = |(column, element): (usize, &crate::key::element::KeyElement)| {
            let values: Vec<&[u8]> = keys.iter().map(|key| self.value(column, *key)).collect();
            decode(&values, element.field(&spec.columns).data_type())
        };
        let arrays = elements.iter().enumerate().map(array).collect::<Result<Vec<_>>>()?;
        let fields = elements.iter().map(|element| element.sort_field(&spec.columns)).collect();
        let rows = RowConverter::new(fields)?.convert_columns(&arrays)?;
        Ok(rows.iter().map(|row| Arc::from(row.data())).collect())
    }
}

/// For each granule, the number of the long run of one part's exclusive granules that it is in, if any.
fn runs(exclusive: &[bool], sorted: &[Key]) -> Vec<Option<usize>> {
    let mut runs = vec![None; sorted.len()];
    let mut start = 0;
    while start < sorted.len() {
        let same = |at: &usize| exclusive[*at] && sorted[*at].input == sorted[start].input;
        let length = (start..sorted.len()).take_while(same).count();
        if length >= EXCLUSIVE_GRANULES_MIN {
            runs[start..start + length].fill(Some(start));
        }
        start += length.max(1);
    }
    runs
}
