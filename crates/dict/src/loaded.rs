//! A loaded dictionary: a layout and its attributes, which never change.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use basalt_base::region::Region;
use basalt_base::{Error, Result, SqlType};

use crate::block::{check_keys, split_block};
use crate::block_cut::BlockCut;
use crate::counters::Counters;
use crate::dictionary::{Dictionary, VisitRows};
use crate::image::{Backing, ImageReader, ImageWriter, Storable};
use crate::layout::{
    AutoBuilder, ComplexKeyHashed, ComplexKeyHashedBuilder, FlatBuilder, FlatPart, Hashed, HashedBuilder,
    Layout, LayoutBuilder, Positions, build_ip_trie, build_polygon, build_range, build_regexp_tree,
    open_auto, open_ip_trie, open_polygon, open_range, open_regexp_tree,
};
use crate::layout_kind::LayoutKind;
use crate::scan_columns::{ScanColumns, block_lengths};
use crate::schema::DictionarySchema;
use crate::spec::DictionarySpec;
use crate::stats::DictionaryStats;
use crate::table::Hits;
use crate::table_form::{table_form, table_shape};
use crate::values::Values;

struct LoadedDictionary {
    schema: DictionarySchema,
    layout: Box<dyn Layout>,
    values: Values,
    counters: Counters,
    backing: Backing,
}

/// Loads a dictionary in memory from `blocks`: the key columns followed by all attributes. Blocks are taken one by
/// one and not kept. The last row of a key wins. A NULL in a key, or an error of `blocks`, ends the load.
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
    let schema = DictionarySchema::of_resolved(&spec);
    let mut values = Values::new(&spec.attributes, kind.may_inline());
    let mut builder = layout_builder(&spec, &schema.key_types, values.payload_bytes())?;
    for block in blocks {
        let (rows, keys, columns) =
            split_block(&schema.key_types, &spec.attributes, &block?, schema.has_simple_key())?;
        let payloads = values.push(&columns, rows)?;
        builder.push(&keys, payloads)?;
    }
    let layout = builder.finish(&mut values)?;
    values.shrink()?;
    let (counters, backing) = (Counters::default(), Backing::default());
    Ok(Arc::new(LoadedDictionary { schema, layout, values, counters, backing }))
}

/// Opens a dictionary over the parts of `file`, in the order in which [`Storable::save`] wrote them.
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
    let (kind, schema) = (spec.layout.kind, DictionarySchema::of_resolved(&spec));
    let layout: Box<dyn Layout> = match kind {
        LayoutKind::Flat => Box::new(Positions::<FlatPart>::open(image)?),
        LayoutKind::Auto => open_auto(image)?,
        LayoutKind::ComplexKeyHashed
        | LayoutKind::ComplexKeySparseHashed
        | LayoutKind::ComplexKeyHashedArray => Box::new(ComplexKeyHashed::open(&schema.key_types, image)?),
        _ if kind.is_storable() => Box::new(Hashed::open(image)?),
        other => return Err(Error::not_implemented(format!("a file of dictionary layout {}", other.name()))),
    };
    let values = Values::open(&spec.attributes, kind.may_inline(), image)?;
    if !image.is_at_end() {
        return Err(ImageReader::unfit());
    }
    let counters = Counters::default();
    Ok(Arc::new(LoadedDictionary { schema, layout, values, counters, backing }))
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

impl LoadedDictionary {
    fn find(&self, keys: &[ArrayRef]) -> Result<Hits> {
        check_keys(&self.schema.key_types, keys, self.schema.has_simple_key())?;
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
    fn schema(&self) -> &DictionarySchema {
        &self.schema
    }

    fn layout(&self) -> &'static str {
        self.layout.name().unwrap_or(self.schema.kind.name())
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
        let asked = ScanColumns::of(columns, self.schema.key_types.len());
        let attributes = asked.attributes();
        let mut cut = BlockCut::of(self.values.heap_bytes(), self.layout.len());
        self.layout.visit(&mut |keys, payloads| {
            let mut rest = payloads.as_slice();
            while !rest.is_empty() {
                let (front, after) = rest.split_at(rest.len().min(cut.rows()));
                let first = payloads.len() - rest.len();
                let hits = Hits { payloads: front.to_vec(), found: vec![true; front.len()] };
                let values = self.values.get(&attributes, &hits)?;
                cut.learn(&values, front.len());
                let key = |at: usize| Ok(keys[at].slice(first, front.len()));
                self.backing.check_present()?;
                visit(front.len(), asked.join(key, values)?)?;
                rest = after;
            }
            Ok(())
        })
    }

    fn storable(&self) -> Option<&dyn Storable> {
        Some(self)
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

impl Storable for LoadedDictionary {
    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.check()?;
        self.layout.save(image)?;
        self.values.save(image)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, UInt16Array, UInt64Array};
    use arrow::datatypes::UInt16Type;
    use basalt_base::{Column, Columns, ErrorCode};

    use super::*;
    use crate::attribute::Attribute;
    use crate::layout_spec::LayoutSpec;

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

    /// Memory is at most about the ten bytes a key of the data.
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
    fn a_scan_ends_when_its_visitor_fails() {
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
