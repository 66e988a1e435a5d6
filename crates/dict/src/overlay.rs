//! A dictionary and what changed since it was loaded: the answer to an incremental refresh.
//!
//! Changed, new and deleted keys are a second, small dictionary, in which a lookup looks first. So a refresh takes
//! memory for the changes, not for a second copy. When there are many changes ([`Updated::Many`]), the caller should
//! merge both into one dictionary.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::compute::{not, or};
use basalt_base::{Error, Result};

use crate::counters::Counters;
use crate::dictionary::{Dictionary, VisitRows};
use crate::layout_kind::LayoutKind;
use crate::layout_spec::LayoutSpec;
use crate::loaded::build;
use crate::row_stream::RowStream;
use crate::schema::DictionarySchema;
use crate::spec::DictionarySpec;
use crate::stats::DictionaryStats;
use crate::tombstones::{DeletedKeys, RowForm, alive, filtered, mark_attribute, no_mark};

/// More changes than this, and than one in [`CHANGES_SHARE`] rows, are merged with the rows.
const CHANGES_MAX: u64 = 65_536;
const CHANGES_SHARE: u64 = 4;

struct Overlay {
    base: Arc<dyn Dictionary>,
    /// It has the attributes of `base`, and one more: whether the key is deleted.
    changes: Arc<dyn Dictionary>,
    element_count: u64,
    counters: Counters,
}

/// A dictionary with its changes.
pub enum Updated {
    /// A version that answers with the changes.
    Few(Arc<dyn Dictionary>),
    /// A version that answers with the changes, but whose rows ([`RowStream`]) should be loaded into a version of
    /// their own.
    Many(Arc<dyn Dictionary>),
}

impl Updated {
    /// A version in memory, merged if there are many changes.
    pub fn in_memory(self, spec: &DictionarySpec) -> Result<Arc<dyn Dictionary>> {
        match self {
            Updated::Few(version) => Ok(version),
            Updated::Many(version) => build(spec.clone(), &mut RowStream::of(&version)?),
        }
    }
}

/// Applies `changes` to `current`: blocks of key columns, attributes, and a UInt8 that is not 0 for a deleted key.
/// The last row of a key wins.
pub fn update(
    spec: &DictionarySpec,
    current: &Arc<dyn Dictionary>,
    changes: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
) -> Result<Updated> {
    let spec = spec.clone().resolved()?;
    let (base, earlier) = match current.changes() {
        Some((base, changes)) => (base, Some(RowStream::of(&changes)?)),
        None => (Arc::clone(current), None),
    };
    let mut rows = earlier.into_iter().flatten().chain(changes);
    let changes = build(changes_spec(&spec), &mut rows)?;
    if changes.stats().element_count == 0 {
        return Ok(Updated::Few(Arc::clone(current)));
    }
    let overlay = Overlay::new(base, changes)?;
    let (changed, all) = (overlay.changes.stats().element_count, overlay.element_count);
    let is_many = changed > CHANGES_MAX && changed > all / CHANGES_SHARE;
    let version: Arc<dyn Dictionary> = Arc::new(overlay);
    Ok(if is_many { Updated::Many(version) } else { Updated::Few(version) })
}

/// Loads rows of this form in memory; see [`crate::build`]. Deleted keys may become changes over a version that has
/// them.
pub fn build_rows(
    spec: &DictionarySpec,
    rows: RowForm,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
) -> Result<Arc<dyn Dictionary>> {
    if rows == RowForm::Plain {
        return build(spec.clone(), blocks);
    }
    let mut deleted = DeletedKeys::of(spec);
    let dictionary = build(spec.clone(), &mut blocks.map(|block| deleted.take_from(&block?)))?;
    // The version has keys whose row came before their deletion.
    update(spec, &dictionary, &mut deleted.as_changes()?.into_iter().map(Ok))?.in_memory(spec)
}

/// The changes are few, so their table need not be dense.
fn changes_spec(spec: &DictionarySpec) -> DictionarySpec {
    let kind = match spec.layout.kind.is_complex() {
        true => LayoutKind::ComplexKeyHashed,
        false => LayoutKind::Hashed,
    };
    let mut attributes = spec.attributes.clone();
    attributes.push(mark_attribute());
    DictionarySpec { attributes, layout: LayoutSpec::new(kind), ..spec.clone() }
}

impl Overlay {
    fn new(base: Arc<dyn Dictionary>, changes: Arc<dyn Dictionary>) -> Result<Overlay> {
        let keys = base.key_types().len();
        let mut element_count = base.stats().element_count;
        changes.visit(&mut |block| {
            let known = base.has(&block[..keys])?.true_count() as u64;
            element_count = element_count.saturating_sub(known);
            element_count += alive(block.last().ok_or_else(no_mark)?)?.true_count() as u64;
            Ok(())
        })?;
        Ok(Overlay { base, changes, element_count, counters: Counters::default() })
    }

    /// The attribute of the changes that marks deleted keys.
    fn deleted(&self) -> usize {
        self.base.attributes().len()
    }

    /// Which keys changed, and which of these are not deleted.
    fn changed(&self, keys: &[ArrayRef]) -> Result<(BooleanArray, BooleanArray)> {
        let (marks, changed) = self.changes.get(&[self.deleted()], keys)?;
        let alive = alive(&marks[0])?;
        let there = arrow::compute::and(&changed, &alive).map_err(Error::logical)?;
        Ok((changed, there))
    }
}

impl Dictionary for Overlay {
    fn schema(&self) -> &DictionarySchema {
        self.base.schema()
    }

    fn layout(&self) -> &'static str {
        self.base.layout()
    }

    fn get(&self, attributes: &[usize], keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, BooleanArray)> {
        let (changed, there) = self.changed(keys)?;
        let (columns, found) = self.base.get(attributes, keys)?;
        if changed.true_count() == 0 {
            self.counters.add(&found.values().iter().collect::<Vec<bool>>());
            return Ok((columns, found));
        }
        let (mut newer, _) = self.changes.get(attributes, keys)?;
        let gone = arrow::compute::and_not(&changed, &there).map_err(Error::logical)?;
        let rows = changed.len();
        for (column, (newer, &at)) in columns.into_iter().zip(newer.iter_mut().zip(attributes)) {
            let default = repeated(&self.base.attributes()[at].default, rows)?;
            let kept = zip(&gone, &default, &column)?;
            *newer = zip(&there, newer, &kept)?;
        }
        let kept = arrow::compute::and_not(&found, &changed).map_err(Error::logical)?;
        let found = or(&there, &kept).map_err(Error::logical)?;
        self.counters.add(&found.values().iter().collect::<Vec<bool>>());
        Ok((newer, found))
    }

    fn has(&self, keys: &[ArrayRef]) -> Result<BooleanArray> {
        Ok(self.get(&[], keys)?.1)
    }

    fn visit_columns(&self, columns: &[usize], visit: &mut VisitRows<'_>) -> Result<()> {
        let keys = self.base.key_types().len();
        let with_keys: Vec<usize> = columns.iter().copied().chain(0..keys).collect();
        self.base.visit_columns(&with_keys, &mut |_, mut block| {
            let (changed, _) = self.changed(&block.split_off(columns.len()))?;
            visit_some(&block, &not(&changed).map_err(Error::logical)?, visit)
        })?;
        let with_mark: Vec<usize> = columns.iter().copied().chain([keys + self.deleted()]).collect();
        self.changes.visit_columns(&with_mark, &mut |_, mut block| {
            let deleted = block.pop().ok_or_else(no_mark)?;
            visit_some(&block, &alive(&deleted)?, visit)
        })
    }

    fn stats(&self) -> DictionaryStats {
        let (base, changes) = (self.base.stats(), self.changes.stats());
        self.counters.fill(DictionaryStats {
            element_count: self.element_count,
            bytes_allocated: base.bytes_allocated + changes.bytes_allocated,
            ..base
        })
    }

    fn memory_bytes(&self) -> u64 {
        self.base.memory_bytes() + self.changes.memory_bytes()
    }

    fn check(&self) -> Result<()> {
        self.base.check()
    }

    fn is_damaged(&self) -> bool {
        self.base.is_damaged()
    }

    fn changes(&self) -> Option<(Arc<dyn Dictionary>, Arc<dyn Dictionary>)> {
        Some((Arc::clone(&self.base), Arc::clone(&self.changes)))
    }
}

/// Visits the rows of a block that are kept.
fn visit_some(block: &[ArrayRef], keeps: &BooleanArray, visit: &mut VisitRows<'_>) -> Result<()> {
    visit(keeps.true_count(), filtered(block, keeps)?)
}

fn repeated(value: &ArrayRef, rows: usize) -> Result<ArrayRef> {
    let zeroes = arrow::array::UInt32Array::from(vec![0; rows]);
    arrow::compute::take(value, &zeroes, None).map_err(Error::logical)
}

/// The rows of `yes` where `mask` is set, and those of `no` elsewhere.
fn zip(mask: &BooleanArray, yes: &ArrayRef, no: &ArrayRef) -> Result<ArrayRef> {
    arrow::compute::kernels::zip::zip(mask, yes, no).map_err(Error::logical)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use arrow::array::{Array, AsArray, BinaryViewArray, UInt8Array, UInt64Array};
    use basalt_base::{Column, Columns, SqlType};
    use proptest::prelude::*;

    use super::*;
    use crate::attribute::Attribute;

    fn spec(key: SqlType) -> DictionarySpec {
        let attribute = |name: &str, ty: SqlType| Attribute {
            name: name.into(),
            default: ty.default_array(1),
            ty,
            hierarchical: false,
            injective: false,
        };
        DictionarySpec {
            key_columns: Columns::new(vec![Column::new("key", key)]),
            attributes: vec![attribute("a", SqlType::UInt64), attribute("b", SqlType::String)],
            layout: LayoutSpec::new(LayoutKind::Hashed),
            range: None,
        }
    }

    fn keys(ty: &SqlType, keys: &[u64]) -> ArrayRef {
        match ty {
            SqlType::String => {
                Arc::new(BinaryViewArray::from_iter_values(keys.iter().map(|key| format!("key {key}"))))
            }
            _ => Arc::new(UInt64Array::from(keys.to_vec())),
        }
    }

    /// Keys, values and marks of deleted keys as a block.
    fn block(ty: &SqlType, rows: &[(u64, u64, bool)]) -> Vec<ArrayRef> {
        let numbers: Vec<u64> = rows.iter().map(|row| row.0).collect();
        vec![
            keys(ty, &numbers),
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.1))),
            Arc::new(BinaryViewArray::from_iter_values(rows.iter().map(|row| row.1.to_string()))),
            Arc::new(UInt8Array::from_iter_values(rows.iter().map(|row| u8::from(row.2)))),
        ]
    }

    fn check(key: &SqlType, loaded: &[(u64, u64)], updates: &[Vec<(u64, u64, bool)>]) {
        let mut model: BTreeMap<u64, u64> = loaded.iter().copied().collect();
        let rows: Vec<_> = loaded.iter().map(|&(key, value)| (key, value, false)).collect();
        let mut first = block(key, &rows);
        first.pop();
        let mut dictionary = build(spec(key.clone()), &mut std::iter::once(Ok(first))).expect("valid rows");
        for rows in updates {
            for &(key, value, deleted) in rows {
                if deleted {
                    model.remove(&key)
                } else {
                    model.insert(key, value)
                };
            }
            let mut blocks = std::iter::once(Ok(block(key, rows)));
            let (spec, current) = (spec(key.clone()), &dictionary);
            let updated = update(&spec, current, &mut blocks).and_then(|updated| updated.in_memory(&spec));
            dictionary = updated.expect("valid changes");
            let asked: Vec<u64> = (0..40).collect();
            let (columns, found) = dictionary.get(&[1, 0], &[keys(key, &asked)]).expect("valid keys");
            for (row, key) in asked.iter().enumerate() {
                let value = model.get(key);
                assert_eq!(found.value(row), value.is_some(), "key {key}");
                let numbers = columns[1].as_primitive::<arrow::datatypes::UInt64Type>();
                assert_eq!(numbers.value(row), value.copied().unwrap_or(0));
                let text = value.map(u64::to_string).unwrap_or_default();
                assert_eq!(columns[0].as_binary_view().value(row), text.as_bytes());
            }
            assert_eq!(dictionary.stats().element_count, model.len() as u64);
            let blocks = dictionary.scan().expect("readable");
            assert_eq!(blocks.iter().map(|block| block[0].len()).sum::<usize>(), model.len());
            let column = |at: usize| {
                let parts: Vec<&dyn Array> = blocks.iter().map(|block| block[at].as_ref()).collect();
                arrow::compute::concat(&parts).expect("blocks of one form")
            };
            if !model.is_empty() {
                let scanned: Vec<ArrayRef> = (0..3).map(column).collect();
                crate::layout::conformance::check_projections(dictionary.as_ref(), &scanned);
            }
        }
    }

    proptest! {
        #[test]
        fn updates_are_those_of_a_map(
            loaded in prop::collection::vec((0..30_u64, 1..1000_u64), 0..30),
            updates in prop::collection::vec(
                prop::collection::vec((0..40_u64, 1..1000_u64, any::<bool>()), 0..20), 1..4),
        ) {
            check(&SqlType::UInt64, &loaded, &updates);
            check(&SqlType::String, &loaded, &updates);
        }
    }

    /// A merge holds several blocks at a time.
    #[test]
    fn wide_rows_are_visited_in_short_blocks() {
        let wide = |keys: std::ops::Range<u64>, text: &str, marks: usize| -> Vec<ArrayRef> {
            let rows = (keys.end - keys.start) as usize;
            let mut block = block(&SqlType::UInt64, &keys.map(|key| (key, key, false)).collect::<Vec<_>>());
            block[2] = Arc::new(BinaryViewArray::from_iter_values((0..rows).map(|_| text.repeat(500))));
            block.truncate(3 + marks);
            block
        };
        let first = wide(0..40_000, "a", 0);
        let loaded = build(spec(SqlType::UInt64), &mut std::iter::once(Ok(first))).expect("valid rows");
        let mut changes = std::iter::once(Ok(wide(30_000..60_000, "b", 1)));
        let Ok(Updated::Few(version)) = update(&spec(SqlType::UInt64), &loaded, &mut changes) else {
            panic!("fewer than 65,536 changes")
        };
        let mut shown = [0, 0];
        version
            .visit(&mut |block| {
                let texts = block[2].as_binary_view();
                assert!(texts.total_buffer_bytes_used() < 9 << 20);
                shown[0] += texts.iter().flatten().filter(|text| text[0] == b'a').count();
                shown[1] += texts.iter().flatten().filter(|text| text[0] == b'b').count();
                Ok(())
            })
            .expect("readable");
        assert_eq!(shown, [30_000, 30_000]);
    }

    #[test]
    fn many_changes_are_merged_with_the_rest() {
        let loaded: Vec<(u64, u64)> = (0..10).map(|key| (key, key)).collect();
        let many = (0..CHANGES_MAX + 10).map(|key| (key, key + 1, key == 3)).collect();
        check(&SqlType::UInt64, &loaded, &[many, vec![(4, 9, true)]]);
    }
}
