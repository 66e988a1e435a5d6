//! DIRECT and COMPLEX_KEY_DIRECT: nothing is loaded, every lookup queries the source.
//!
//! The source gets each distinct key of a block once. Its rows come in any order, and are brought into the order of the
//! keys. A source that finds the row of each key gets all keys, and returns the requested attributes alone.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, UInt32Array};
use arrow::compute::{concat, take};
use basalt_base::{Error, Result, bail};

use crate::block::{check_keys, integer_keys, key_column, split_block};
use crate::counters::Counters;
use crate::dictionary::{Dictionary, DirectSource, Located, VisitRows};
use crate::key_bytes::KeyShape;
use crate::key_numbers::KeyNumbers;
use crate::schema::DictionarySchema;
use crate::spec::DictionarySpec;
use crate::stats::DictionaryStats;
use crate::values::{ROWS_MAX, StringArena};

#[derive(Clone)]
struct DirectDictionary {
    schema: DictionarySchema,
    shape: KeyShape,
    source: Arc<dyn DirectSource>,
    counters: Arc<Counters>,
    /// The thread limit of lookups, for a source that locates keys.
    threads_max: usize,
}

/// A dictionary that asks `source` at every lookup.
pub fn build_direct(spec: DictionarySpec, source: Arc<dyn DirectSource>) -> Result<Arc<dyn Dictionary>> {
    let spec = spec.resolved()?;
    if !spec.layout.kind.is_direct() {
        return Err(Error::logical(format!("{} is not a direct layout", spec.layout.kind.name())));
    }
    let schema = DictionarySchema::of_resolved(&spec);
    Ok(Arc::new(DirectDictionary {
        shape: KeyShape::new(&schema.key_types)?,
        schema,
        source,
        counters: Arc::default(),
        threads_max: 1,
    }))
}

/// The distinct keys of a block.
pub(super) struct DistinctKeys {
    pub(super) numbers: KeyNumbers,
    /// The row where each distinct key occurs first.
    pub(super) first_rows: Vec<u32>,
    /// The distinct key of each row.
    pub(super) of_row: Vec<u32>,
}

impl DistinctKeys {
    pub(super) fn new(block: &StringArena) -> Result<DistinctKeys> {
        if block.len() >= ROWS_MAX {
            bail!(ArgumentOutOfBound, "a lookup takes at most {ROWS_MAX} keys");
        }
        let mut keys =
            DistinctKeys { numbers: KeyNumbers::default(), first_rows: Vec::new(), of_row: Vec::new() };
        for row in 0..block.len() {
            let number = keys.numbers.number(block.get(row))?;
            if number as usize == keys.first_rows.len() {
                keys.first_rows.push(row as u32);
            }
            keys.of_row.push(number);
        }
        Ok(keys)
    }
}

/// The rows that the source returned.
struct Answer {
    /// All attribute columns of each block.
    blocks: Vec<Vec<ArrayRef>>,
    /// For each key: its row in all blocks, plus 1; 0 if it is missing.
    rows: Vec<u32>,
}

impl DirectDictionary {
    fn ask(&self, keys: &[ArrayRef]) -> Result<Answer> {
        let simple = self.schema.has_simple_key();
        check_keys(&self.schema.key_types, keys, simple)?;
        let keys = self.widened(keys)?;
        let distinct = DistinctKeys::new(&self.shape.encode(&keys)?)?;
        let positions = UInt32Array::from(distinct.first_rows.clone());
        let question =
            keys.iter().map(|key| take(key, &positions, None).map_err(broken)).collect::<Result<Vec<_>>>()?;
        let answers = if positions.is_empty() { Vec::new() } else { self.source.lookup(&question)? };
        let mut rows_of_distinct = vec![0_u32; distinct.first_rows.len()];
        let mut blocks = Vec::with_capacity(answers.len());
        let mut next = 1;
        for answer in &answers {
            let (rows, keys, columns) =
                split_block(&self.schema.key_types, &self.schema.attributes, answer, simple)?;
            let encoded = self.shape.encode(&self.widened(&keys)?)?;
            for row in 0..rows {
                if let Some(at) = distinct.numbers.find(encoded.get(row)) {
                    rows_of_distinct[at as usize] = next + row as u32;
                }
            }
            next = u32::try_from(next as usize + rows)
                .map_err(|_| Error::logical("a direct source returned more rows than any lookup has"))?;
            blocks.push(columns);
        }
        let rows: Vec<u32> = distinct.of_row.iter().map(|&at| rows_of_distinct[at as usize]).collect();
        let found: Vec<bool> = rows.iter().map(|&row| row > 0).collect();
        self.counters.add(&found);
        Ok(Answer { blocks, rows })
    }

    /// The rows of the keys, from a source that locates keys.
    fn locate(&self, keys: &[ArrayRef], attributes: &[usize]) -> Result<Option<Located>> {
        check_keys(&self.schema.key_types, keys, self.schema.has_simple_key())?;
        let Some(located) = self.source.locate(&self.widened(keys)?, attributes, self.threads_max)? else {
            return Ok(None);
        };
        let rows = located.values.first().map_or(u32::MAX as usize, |values| values.len());
        let is_whole = located.values.len() == attributes.len()
            && located.row_of_key.len() == keys[0].len()
            && located.row_of_key.iter().flatten().all(|&row| (row as usize) < rows);
        if !is_whole {
            return Err(Error::logical("a direct source located rows that it did not return"));
        }
        self.counters.add_rows(located.row_of_key.len(), located.row_of_key.iter().flatten().count());
        Ok(Some(located))
    }

    /// The value of each key, or the default of a missing one.
    fn placed(&self, attributes: &[usize], located: &Located) -> Result<(Vec<ArrayRef>, BooleanArray)> {
        let found = found(&located.row_of_key);
        let place = |(values, &attribute): (&ArrayRef, &usize)| {
            if found.true_count() == found.len() {
                let rows = located.row_of_key.iter().flatten().copied();
                return take(values, &UInt32Array::from_iter_values(rows), None).map_err(broken);
            }
            let default = &self.schema.attributes[attribute].default;
            let all = concat(&[default.as_ref(), values.as_ref()]).map_err(broken)?;
            let rows = located.row_of_key.iter().map(|row| row.map_or(0, |row| row + 1));
            take(&all, &UInt32Array::from_iter_values(rows), None).map_err(broken)
        };
        let columns = located.values.iter().zip(attributes).map(place).collect::<Result<_>>()?;
        Ok((columns, found))
    }

    /// The keys of a simple layout as `UInt64`, which the source takes.
    fn widened(&self, keys: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        if !self.schema.has_simple_key() {
            return Ok(keys.to_vec());
        }
        Ok(vec![key_column(integer_keys(&keys[0])?)])
    }
}

/// Which keys were found.
fn found(row_of_key: &[Option<u32>]) -> BooleanArray {
    row_of_key.iter().map(|row| Some(row.is_some())).collect()
}

impl Answer {
    fn column(&self, attribute: usize, default: &ArrayRef) -> Result<ArrayRef> {
        let mut parts: Vec<&dyn Array> = vec![default.as_ref()];
        parts.extend(self.blocks.iter().map(|block| block[attribute].as_ref()));
        let all = concat(&parts).map_err(broken)?;
        take(&all, &UInt32Array::from(self.rows.clone()), None).map_err(broken)
    }

    fn found(&self) -> BooleanArray {
        self.rows.iter().map(|&row| Some(row > 0)).collect()
    }
}

impl Dictionary for DirectDictionary {
    fn schema(&self) -> &DictionarySchema {
        &self.schema
    }

    fn get(&self, attributes: &[usize], keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, BooleanArray)> {
        if let Some(located) = self.locate(keys, attributes)? {
            return self.placed(attributes, &located);
        }
        let answer = self.ask(keys)?;
        let columns = attributes
            .iter()
            .map(|&at| answer.column(at, &self.schema.attributes[at].default))
            .collect::<Result<_>>()?;
        Ok((columns, answer.found()))
    }

    fn on_threads(&self, threads_max: usize) -> Option<Arc<dyn Dictionary>> {
        Some(Arc::new(DirectDictionary { threads_max, ..self.clone() }))
    }

    fn prefers_large_blocks(&self) -> bool {
        self.source.prefers_large_blocks()
    }

    fn has(&self, keys: &[ArrayRef]) -> Result<BooleanArray> {
        Ok(match self.locate(keys, &[])? {
            Some(located) => found(&located.row_of_key),
            None => self.ask(keys)?.found(),
        })
    }

    fn visit_columns(&self, columns: &[usize], visit: &mut VisitRows<'_>) -> Result<()> {
        self.source.visit(&mut |block| {
            let rows = block.first().map_or(0, |column| column.len());
            visit(rows, columns.iter().map(|&column| Arc::clone(&block[column])).collect())
        })
    }

    fn stats(&self) -> DictionaryStats {
        let bytes_allocated = size_of::<DirectDictionary>() as u64;
        self.counters.fill(DictionaryStats { bytes_allocated, ..DictionaryStats::default() })
    }
}

fn broken(error: arrow::error::ArrowError) -> Error {
    Error::logical(format!("a direct lookup's arrays do not fit together: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::conformance;
    use crate::{Attribute, LayoutKind, LayoutSpec};
    use basalt_base::SqlType;

    #[test]
    fn conforms() {
        conformance::check_simple(&LayoutSpec::new(LayoutKind::Direct));
        conformance::check_complex(&LayoutSpec::new(LayoutKind::ComplexKeyDirect));
    }

    #[test]
    fn a_key_is_asked_for_once() {
        struct Distinct;
        impl DirectSource for Distinct {
            fn lookup(&self, keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
                assert_eq!(integer_keys(&keys[0])?, [5, 3]);
                Ok(Vec::new())
            }
        }
        let spec = conformance::simple_spec(&LayoutSpec::new(LayoutKind::Direct));
        let dictionary = build_direct(spec, Arc::new(Distinct)).expect("a valid definition");
        let found = dictionary.has(&[key_column(vec![5, 3, 5, 5, 3])]).expect("valid keys");
        assert_eq!(found.true_count(), 0);
    }

    /// A source of the keys 10 and 20, whose values are the keys.
    struct Tens;

    impl DirectSource for Tens {
        fn lookup(&self, _keys: &[ArrayRef]) -> Result<Vec<Vec<ArrayRef>>> {
            Err(Error::logical("the keys are located"))
        }

        fn locate(
            &self,
            keys: &[ArrayRef],
            attributes: &[usize],
            _threads_max: usize,
        ) -> Result<Option<Located>> {
            let row = |key: u64| [10, 20].iter().position(|&known| known == key).map(|row| row as u32);
            let row_of_key = integer_keys(&keys[0])?.into_iter().map(row).collect();
            Ok(Some(Located { values: vec![key_column(vec![10, 20]); attributes.len()], row_of_key }))
        }
    }

    #[test]
    fn a_source_that_locates_keys_gets_them_as_they_are() {
        let types = [("a", SqlType::UInt64), ("b", SqlType::UInt64)];
        let attributes = types.map(|(name, ty)| Attribute {
            name: name.to_owned(),
            default: key_column(vec![7]),
            ty,
            hierarchical: false,
            injective: false,
        });
        let spec = DictionarySpec {
            attributes: attributes.to_vec(),
            ..conformance::simple_spec(&LayoutSpec::new(LayoutKind::Direct))
        };
        let dictionary = build_direct(spec, Arc::new(Tens)).expect("a valid definition");
        let check = |keys: Vec<u64>, expected: Vec<u64>| {
            let (values, found) = dictionary.get(&[1], &[key_column(keys.clone())]).expect("valid keys");
            assert_eq!(integer_keys(&values[0]).expect("integers"), expected);
            assert_eq!(found, dictionary.has(&[key_column(keys)]).expect("valid keys"));
        };
        check(vec![20, 10, 20], vec![20, 10, 20]);
        check(vec![20, 3, 10, 4], vec![20, 7, 10, 7]);
        check(vec![], vec![]);
        assert_eq!(dictionary.stats().query_count, 14);
    }
}
