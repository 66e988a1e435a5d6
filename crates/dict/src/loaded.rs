//! A dictionary in memory: a layout and its attributes, loaded once and frozen.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use basalt_base::region::Region;
use basalt_base::{Error, Result, SqlType};

use crate::attribute::Attribute;
use crate::block::{check_keys, split_block};
use crate::block_cut::BlockCut;
use crate::counters::Counters;
use crate::dictionary::{Dictionary, VisitRows};
use crate::image::{Backing, ImageReader, ImageWriter};
use crate::layout::{
    AutoBuilder, ComplexKeyHashed, ComplexKeyHashedBuilder, FlatBuilder, FlatPart, Hashed, HashedBuilder,
    Layout, LayoutBuilder, Positions, build_ip_trie, build_polygon, build_range, build_regexp_tree,
    open_auto, open_ip_trie, open_polygon, open_range, open_regexp_tree,
};
use crate::layout_kind::LayoutKind;
use crate::layout_spec::LayoutSpec;
use crate::scan_columns::{ScanColumns, block_lengths};
use crate::spec::DictionarySpec;
use crate::stats::DictionaryStats;
use crate::table::{Hits, TableForm, TableShape};
use crate::values::Values;

/// How far SPARSE_HASHED fills lines if it says nothing.
const SPARSE_LOAD_FACTOR: f64 = 0.95;

struct LoadedDictionary {
    kind: LayoutKind,
    key_types: Vec<SqlType>,
    attributes: Vec<Attribute>,
    layout: Box<dyn Layout>,
    values: Values,
    counters: Counters,
    backing: Backing,
}

/// Loads a dictionary from `blocks`: the key columns followed by all attributes. Blocks are taken one by
/// one and not kept. The last row of a key wins; a NULL in a key, and the first error of `blocks`, end
/// the load.
pub fn build(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
) -> Result<Arc<dyn Dictionary>> {
    let spec = spec.resolved()?;
    let kind = spec.layout.kind;
    if kind.is_range() {
        return build_range(spec, blocks);
    }
    if kind.is_polygon() {
        return build_polygon(spec, blocks);
    }
    if kind == LayoutKind::IpTrie {
        return build_ip_trie(spec, blocks);
    }
    if kind == LayoutKind::RegexpTree {
        return build_regexp_tree(spec, blocks);
    }
    let key_types = spec.key_types();
    let mut values = Values::new(&spec.attributes, kind.may_inline());
    let mut builder = layout_builder(&spec, &key_types, values.payload_bytes())?;
    for block in blocks {
        let (rows, keys, columns) = split_block(&key_types, &spec.attributes, &block?, !kind.is_complex())?;
        let payloads = values.push(&columns, rows)?;
        builder.push(&keys, payloads)?;
    }
    let layout = builder.finish(&mut values)?;
    values.shrink()?;
    let (attributes, counters) = (spec.attributes, Counters::default());
    let backing = Backing::default();
    Ok(Arc::new(LoadedDictionary { kind, key_types, attributes, layout, values, counters, backing }))
}

/// A dictionary over the parts of `file`, in the order in which [`Dictionary::save`] wrote them.
pub(crate) fn open(
    spec: DictionarySpec,
    image: &mut ImageReader<'_>,
    file: Arc<Region>,
) -> Result<Arc<dyn Dictionary>> {
    let spec = spec.resolved()?;
    let backing = Backing::of(file);
    if spec.layout.kind.is_range() {
        return open_range(spec, image, backing);
    }
    if spec.layout.kind == LayoutKind::IpTrie {
        return open_ip_trie(spec, image, backing);
    }
    if spec.layout.kind.is_polygon() {
        return open_polygon(spec, image, backing);
    }
    if spec.layout.kind == LayoutKind::RegexpTree {
        return open_regexp_tree(spec, image, backing);
    }
    let (kind, key_types) = (spec.layout.kind, spec.key_types());
    let layout: Box<dyn Layout> = match kind {
        LayoutKind::Flat => Box::new(Positions::<FlatPart>::open(image)?),
        LayoutKind::Auto => open_auto(image)?,
        LayoutKind::ComplexKeyHashed
        | LayoutKind::ComplexKeySparseHashed
        | LayoutKind::ComplexKeyHashedArray => Box::new(ComplexKeyHashed::open(&key_types, image)?),
        _ if kind.is_storable() => Box::new(Hashed::open(image)?),
        other => return Err(Error::not_implemented(format!("a file of dictionary layout {}", other.name()))),
    };
    let values = Values::open(&spec.attributes, kind.may_inline(), image)?;
    if !image.is_at_end() {
        return Err(ImageReader::unfit());
    }
    let (attributes, counters) = (spec.attributes, Counters::default());
    Ok(Arc::new(LoadedDictionary { kind, key_types, attributes, layout, values, counters, backing }))
}

fn layout_builder(
    spec: &DictionarySpec,
    key_types: &[SqlType],
    payload_bytes: usize,
) -> Result<Box<dyn LayoutBuilder>> {
    let shape = table_shape(&spec.layout, payload_bytes);
    let form = table_form(&spec.layout, None);
    Ok(match spec.layout.kind {
        LayoutKind::Flat => Box::new(FlatBuilder::new(&spec.attributes, &spec.layout)),
        LayoutKind::Hashed | LayoutKind::SparseHashed | LayoutKind::HashedArray => {
            Box::new(HashedBuilder::new(shape, form)?)
        }
        LayoutKind::CompactHashed => Box::new(HashedBuilder::packed(shape)?),
        LayoutKind::Auto => Box::new(AutoBuilder::new(shape, form)?),
        LayoutKind::ComplexKeyHashed
        | LayoutKind::ComplexKeySparseHashed
        | LayoutKind::ComplexKeyHashedArray => {
            Box::new(ComplexKeyHashedBuilder::new(key_types, shape, form)?)
        }
        other => {
            return Err(Error::not_implemented(format!("dictionary layout {}", other.name())));
        }
    })
}

pub(crate) fn table_shape(layout: &LayoutSpec, payload_bytes: usize) -> TableShape {
    TableShape {
        shards: layout.shards as usize,
        queue_backlog: layout.shard_load_queue_backlog as usize,
        payload_bytes,
    }
}

/// Lines, filled as far as the layout says. `rows` is how many there are at most, if some come later.
pub(crate) fn table_form(layout: &LayoutSpec, rows: Option<usize>) -> TableForm {
    let own = match layout.kind {
        LayoutKind::SparseHashed | LayoutKind::ComplexKeySparseHashed => Some(SPARSE_LOAD_FACTOR),
        _ => None,
    };
    TableForm::Lines { load_factor: layout.max_load_factor.or(own), rows }
}

impl LoadedDictionary {
    fn find(&self, keys: &[ArrayRef]) -> Result<Hits> {
        check_keys(&self.key_types, keys, !self.kind.is_complex())?;
        if self.backing.is_unchecked() {
            self.layout.check(keys)?;
        }
        let hits = self.layout.find(keys)?;
        self.backing.check_present()?;
        self.counters.add(&hits.found);
        Ok(hits)
    }
}

impl Dictionary for LoadedDictionary {
    fn key_types(&self) -> &[SqlType] {
        &self.key_types
    }

    fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    fn layout(&self) -> &'static str {
        self.layout.name().unwrap_or(self.kind.name())
    }

    fn get(&self, attributes: &[usize], keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, BooleanArray)> {
        let hits = self.find(keys)?;
        if self.backing.is_unchecked() {
            self.values.check(attributes, &hits)?;
        }
        let columns = self.values.get(attributes, &hits)?;
        self.backing.check_present()?;
        Ok((columns, hits.found_array()))
    }

    fn has(&self, keys: &[ArrayRef]) -> Result<BooleanArray> {
        Ok(self.find(keys)?.found_array())
    }

    fn visit_columns(&self, columns: &[usize], visit: &mut VisitRows<'_>) -> Result<()> {
        self.check()?;
        if columns.is_empty() {
            return block_lengths(self.layout.len()).try_for_each(|rows| visit(rows, Vec::new()));
        }
        let asked = ScanColumns::of(columns, self.key_types.len());
        let attributes = asked.attributes();
        let mut cut = BlockCut::of(self.values.heap_bytes(), self.layout.len());
        self.layout.visit(&mut |keys, payloads| {
            let mut rest = payloads.as_slice();
            while !rest.is_empty() {
                let (front, behind) = rest.split_at(rest.len().min(cut.rows()));
                let first = payloads.len() - rest.len();
                let hits = Hits { payloads: front.to_vec(), found: vec![true; front.len()] };
                let values = self.values.get(&attributes, &hits)?;
                cut.learn(&values, front.len());
                let key = |at: usize| Ok(keys[at].slice(first, front.len()));
                self.backing.check_present()?;
                visit(front.len(), asked.join(key, values)?)?;
                rest = behind;
            }
            Ok(())
        })
    }

    fn lists_keys(&self) -> bool {
        true
    }

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.check()?;
        self.layout.save(image)?;
        self.values.save(image)
    }

    fn check(&self) -> Result<()> {
        self.backing.check()
    }

    fn is_damaged(&self) -> bool {
        self.backing.is_damaged()
    }

    fn memory_bytes(&self) -> u64 {
        self.backing.memory_bytes(self.stats().bytes_allocated, size_of::<LoadedDictionary>())
    }

    fn stats(&self) -> DictionaryStats {
        let bytes = size_of::<LoadedDictionary>() + self.layout.heap_bytes() + self.values.heap_bytes();
        self.counters.fill(DictionaryStats {
            element_count: self.layout.len() as u64,
            bytes_allocated: bytes as u64,
            load_factor: self.layout.load_factor(),
            ..DictionaryStats::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, UInt16Array, UInt64Array};
    use arrow::datatypes::UInt16Type;
    use basalt_base::{Column, Columns, ErrorCode};

    use super::*;

    fn ranks(layout: LayoutSpec) -> DictionarySpec {
        DictionarySpec {
            key_columns: Columns::new(vec![Column::new("Key", SqlType::UInt64)]),
            attributes: vec![Attribute {
                name: "Value".into(),
                ty: SqlType::UInt16,
                default: SqlType::UInt16.default_array(1),
                hierarchical: false,
                injective: false,
            }],
            layout,
            range: None,
        }
    }

    fn rank_blocks(keys: u64) -> impl Iterator<Item = Result<Vec<ArrayRef>>> {
        (0..keys).step_by(8192).map(move |first| {
            let block = first..keys.min(first + 8192);
            let values = block.clone().map(|key| (key * 7) as u16);
            Ok(vec![
                Arc::new(UInt64Array::from_iter_values(block)) as ArrayRef,
                Arc::new(UInt16Array::from_iter_values(values)) as ArrayRef,
            ])
        })
    }

    /// Memory is close to the data's own ten bytes a key, or less.
    #[test]
    fn memory_is_near_the_data() {
        let keys = 4_000_000;
        let bytes_a_key = |layout: LayoutSpec| {
            let dictionary = build(ranks(layout), &mut rank_blocks(keys)).expect("a valid source");
            dictionary.stats().bytes_allocated as f64 / keys as f64
        };
        let dense = LayoutSpec { max_load_factor: Some(0.98), ..LayoutSpec::new(LayoutKind::SparseHashed) };
        let sharded = LayoutSpec { shards: 16, ..dense.clone() };
        assert!(bytes_a_key(dense) <= 8.5);
        assert!(bytes_a_key(sharded) <= 8.5);
        assert!(bytes_a_key(LayoutSpec::new(LayoutKind::Hashed)) <= 10.7);
    }

    #[test]
    fn lookups_are_counted() {
        let layout = LayoutSpec::new(LayoutKind::Hashed);
        let dictionary = build(ranks(layout), &mut rank_blocks(100)).expect("a valid source");
        let keys: ArrayRef = Arc::new(UInt64Array::from(vec![1, 99, 100]));
        let (columns, found) = dictionary.get(&[0], &[keys]).expect("valid keys");
        assert_eq!(columns[0].as_primitive::<UInt16Type>().values(), &[7, 693, 0]);
        assert_eq!(found, BooleanArray::from(vec![true, true, false]));
        let stats = dictionary.stats();
        assert_eq!((stats.element_count, stats.query_count, stats.found_count), (100, 3, 2));
    }

    #[test]
    fn a_scan_ends_with_who_looks_at_it() {
        let layout = LayoutSpec::new(LayoutKind::Hashed);
        let dictionary = build(ranks(layout), &mut rank_blocks(300_000)).expect("a valid source");
        let mut blocks = 0;
        let outcome = dictionary.visit_columns(&[1, 0], &mut |rows, _| {
            blocks += 1;
            assert!(rows < 100_000);
            Err(Error::new(ErrorCode::QueryWasCancelled, "seen enough"))
        });
        assert_eq!(outcome.map_err(|error| error.code()), Err(ErrorCode::QueryWasCancelled));
        assert_eq!(blocks, 1);
    }

    #[test]
    fn a_source_that_fails_midway_fails_the_load() {
        for shards in [1, 4] {
            let layout = LayoutSpec { shards, ..LayoutSpec::new(LayoutKind::Hashed) };
            let failure = Err(Error::new(ErrorCode::TimeoutExceeded, "the source hangs"));
            let mut blocks = rank_blocks(100_000).chain([failure]);
            let error = build(ranks(layout), &mut blocks).err().expect("a failed source");
            assert_eq!(error.code(), ErrorCode::TimeoutExceeded);
        }
    }

    #[test]
    fn a_string_key_makes_the_layout_complex() {
        let mut spec = ranks(LayoutSpec::new(LayoutKind::Hashed));
        spec.key_columns = Columns::new(vec![Column::new("Key", SqlType::String)]);
        let dictionary = build(spec.clone(), &mut std::iter::empty()).expect("an empty source");
        assert_eq!(dictionary.layout(), "COMPLEX_KEY_HASHED");
        spec.layout = LayoutSpec::new(LayoutKind::Flat);
        let error = build(spec, &mut std::iter::empty()).err().expect("no complex form");
        assert_eq!(error.code(), ErrorCode::UnsupportedMethod);
    }
}
