//! REGEXP_TREE: a tree of regular expressions with attributes. A lookup is a text.
//!
//! A node matches a text if its expression and those of all its ancestors match. Matching nodes are visited in order of
//! their identifiers, each followed by its ancestors. An attribute has the value of the first visited node that has
//! one. A value may refer to a group of its node's expression by `\1` or `$1`, which is replaced by what the group
//! matched, or by nothing if there is no such group. If a value is only such a reference and the group matched nothing,
//! the attribute has no value: no later node is tried, unless all values are requested.
//!
//! # Layout
//!
//! A file has the nodes of the source as columns, like the attributes of other layouts. Opening it reads all of it
//! and compiles all expressions. Lookups read the texts of values where they are, in the file or in memory.
//!
//! # Cost
//!
//! All expressions run over a text at once. Groups are matched only if a value refers to one. In addition to its
//! columns, a node takes its compiled expressions, 56 bytes, and 16 bytes for each value. The state caches of the
//! automaton, up to [`super::tree_expressions::REMEMBERED_MAX`] for each thread, are not counted.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::interleave;
use basalt_base::{Error, Result, bail};
use regex_automata::meta::Regex;
use regex_automata::{Input, PatternID, PatternSet};

use super::read_values::ReadValues;
use super::tree_expressions::{compile_set, expanded, names_group};
use super::tree_nodes::{Node, VALUES, Value, into_nodes, node_block, node_columns, order, read_rows};
use crate::attribute::Attribute;
use crate::block_cut::SCAN_BLOCK_ROWS;
use crate::counters::Counters;
use crate::dictionary::{Dictionary, VisitRows};
use crate::image::{Backing, ImageReader, ImageWriter, Storable};
use crate::schema::DictionarySchema;
use crate::spec::DictionarySpec;
use crate::stats::DictionaryStats;
use crate::table::Hits;
use crate::values::{SEGMENT_BITS, Values};

struct RegexpTree {
    schema: DictionarySchema,
    /// In the order in which they are visited.
    nodes: Vec<Node>,
    /// The expressions of `nodes`; pattern `n` is that of node `n`.
    set: Regex,
    /// The bytes of all compiled expressions, with their groups.
    compiled_bytes: usize,
    read_values: ReadValues,
    /// The columns of the nodes.
    rows: Values,
    /// The texts of values in each segment of the columns.
    texts: Vec<BinaryViewArray>,
    counters: Counters,
    backing: Backing,
}

/// How many values of an attribute a lookup takes from the nodes that match.
#[derive(Clone, Copy)]
enum Take {
    /// The value of the first node that has one.
    First,
    /// At most this many.
    All(usize),
}

/// Array and row of each value of a column.
type Picks = Vec<(usize, usize)>;

/// Loads a dictionary from blocks of nodes: identifier, identifier of the parent or 0, expression, names of
/// attributes, their values.
pub(crate) fn build_regexp_tree(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
) -> Result<Arc<dyn Dictionary>> {
    let mut rows = Values::new(&node_columns(), false);
    for block in blocks {
        let block = node_block(&block?)?;
        rows.push(&block, block[0].len())?;
    }
    rows.shrink()?;
    tree_of(spec, rows, Backing::default())
}

/// Opens a dictionary over the nodes that [`Storable::save`] wrote, and compiles their expressions.
pub(crate) fn open_regexp_tree(
    spec: DictionarySpec,
    image: &mut ImageReader<'_>,
    backing: Backing,
) -> Result<Arc<dyn Dictionary>> {
    // All bytes are read here.
    backing.check()?;
    let rows = Values::open(&node_columns(), false, image)?;
    if !image.is_at_end() {
        return Err(ImageReader::unfit());
    }
    tree_of(spec, rows, backing)
}

fn tree_of(spec: DictionarySpec, rows: Values, backing: Backing) -> Result<Arc<dyn Dictionary>> {
    let schema = DictionarySchema::of_resolved(&spec);
    let layout = spec.layout;
    let (mut nodes, texts) = read_rows(&rows, &schema.attributes)?;
    nodes.sort_by_key(|node| node.id);
    let order = order(&nodes)?;
    let expressions: Vec<(u64, &str)> =
        order.iter().map(|&at| (nodes[at].id, nodes[at].regexp.as_str())).collect();
    let set = compile_set(&expressions, layout.regexp_flags)?;
    let nodes = into_nodes(&nodes, &order, &texts, layout.regexp_flags)?;
    let groups = nodes.iter().filter_map(|node| node.regex.as_ref()).map(|regex| regex.memory_usage());
    let compiled_bytes = set.memory_usage() + groups.sum::<usize>();
    let (read_values, counters) = (layout.read_values, Counters::default());
    let tree = RegexpTree { schema, nodes, set, compiled_bytes, read_values, rows, texts, counters, backing };
    tree.check_values()?;
    Ok(Arc::new(tree))
}

impl Take {
    fn limit(self) -> usize {
        match self {
            Take::First => 1,
            Take::All(most) => most,
        }
    }
}

impl RegexpTree {
    /// The bytes in addition to the columns.
    fn other_bytes(&self) -> usize {
        let values: usize = self.nodes.iter().map(|node| node.values.capacity() * size_of::<Value>()).sum();
        let groups = self.nodes.iter().filter(|node| node.regex.is_some()).count() * size_of::<Regex>();
        let nodes = self.nodes.capacity() * size_of::<Node>();
        size_of::<RegexpTree>() + nodes + values + groups + self.compiled_bytes
    }

    /// Checks that values without references have the types of their attributes.
    fn check_values(&self) -> Result<()> {
        for node in &self.nodes {
            for value in &node.values {
                let text = value.text(&self.texts);
                if !names_group(text) {
                    self.read_values
                        .read(&self.schema.attributes[value.attribute].ty, &[text.to_vec()])
                        .map_err(|error| error.within(format!("node {}", node.id)))?;
                }
            }
        }
        Ok(())
    }

    /// The values of the attributes `wanted` for `text`.
    fn values(&self, text: &[u8], wanted: &[usize], take: Take) -> Vec<Vec<Option<Vec<u8>>>> {
        let mut found: Vec<Vec<Option<Vec<u8>>>> = vec![Vec::new(); wanted.len()];
        let mut matches = PatternSet::new(self.set.pattern_len());
        self.set.which_overlapping_matches(&Input::new(text), &mut matches);
        let mut seen = vec![false; self.nodes.len()];
        let matches_up = |mut at: usize| loop {
            if !PatternID::new(at).is_ok_and(|pattern| matches.contains(pattern)) {
                return false;
            }
            match self.nodes[at].parent {
                Some(parent) => at = parent,
                None => return true,
            }
        };
        for first in matches.iter().map(|pattern| pattern.as_usize()).filter(|&at| matches_up(at)) {
            let mut next = Some(first);
            while let Some(at) = next.filter(|&at| !seen[at]) {
                seen[at] = true;
                self.add_values(at, text, wanted, take, &mut found);
                next = self.nodes[at].parent;
            }
            if found.iter().all(|values| values.len() >= take.limit()) {
                break;
            }
        }
        found
    }

    /// Adds the values of a node that matches.
    fn add_values(
        &self,
        node: usize,
        text: &[u8],
        wanted: &[usize],
        take: Take,
        found: &mut [Vec<Option<Vec<u8>>>],
    ) {
        let Node { regex, values: own, .. } = &self.nodes[node];
        let groups = regex.as_ref().map(|regex| {
            let mut groups = regex.create_captures();
            regex.captures(text, &mut groups);
            groups
        });
        for (values, &at) in found.iter_mut().zip(wanted) {
            let own = own.iter().find(|value| value.attribute == at);
            if let Some(value) = own.filter(|_| values.len() < take.limit()) {
                let value = value.text(&self.texts);
                let value = match &groups {
                    Some(groups) => expanded(value, text, groups),
                    None => Some(value.to_vec()),
                };
                if value.is_some() || matches!(take, Take::First) {
                    values.push(value);
                }
            }
        }
    }

    fn keys<'a>(&self, keys: &'a [ArrayRef]) -> Result<&'a BinaryViewArray> {
        match keys {
            [key] => key.as_binary_view_opt(),
            _ => None,
        }
        .ok_or_else(|| Error::logical("the key of a REGEXP_TREE dictionary is one String"))
    }
}

impl Dictionary for RegexpTree {
    fn schema(&self) -> &DictionarySchema {
        &self.schema
    }

    /// A text is found if one of the attributes has a value.
    fn get(&self, attributes: &[usize], keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, BooleanArray)> {
        let keys = self.keys(keys)?;
        let mut texts: Vec<Vec<Vec<u8>>> = vec![Vec::new(); attributes.len()];
        let mut picks: Vec<Picks> = vec![Vec::new(); attributes.len()];
        let mut found = vec![false; keys.len()];
        for (row, key) in keys.iter().enumerate() {
            let values = self.values(key.unwrap_or_default(), attributes, Take::First);
            for (at, values) in values.into_iter().enumerate() {
                let value = values.into_iter().next().flatten();
                picks[at].push(if value.is_none() { (0, 0) } else { (1, texts[at].len()) });
                found[row] |= value.is_some();
                texts[at].extend(value);
            }
        }
        self.backing.check_present()?;
        self.counters.add(&found);
        let column = |((texts, picks), &at): ((&Vec<Vec<u8>>, &Picks), &usize)| {
            let Attribute { ty, default, .. } = &self.schema.attributes[at];
            let values = self.read_values.read(ty, texts)?;
            interleave(&[default.as_ref(), values.as_ref()], picks).map_err(broken)
        };
        let columns = texts.iter().zip(&picks).zip(attributes).map(column).collect::<Result<_>>()?;
        Ok((columns, BooleanArray::from(found)))
    }

    fn get_all(
        &self,
        attributes: &[usize],
        keys: &[ArrayRef],
        limit: Option<usize>,
    ) -> Result<Vec<ArrayRef>> {
        let keys = self.keys(keys)?;
        let mut texts: Vec<Vec<Vec<u8>>> = vec![Vec::new(); attributes.len()];
        let mut lengths: Vec<Vec<usize>> = vec![Vec::new(); attributes.len()];
        for key in keys {
            let take = Take::All(limit.unwrap_or(usize::MAX));
            for (at, values) in self.values(key.unwrap_or_default(), attributes, take).into_iter().enumerate()
            {
                lengths[at].push(values.len());
                texts[at].extend(values.into_iter().flatten());
            }
        }
        self.backing.check_present()?;
        let list = |((texts, lengths), &at): ((&Vec<Vec<u8>>, Vec<usize>), &usize)| {
            let ty = &self.schema.attributes[at].ty;
            let values = self.read_values.read(ty, texts)?;
            let list =
                ListArray::try_new(ty.element_field(), OffsetBuffer::from_lengths(lengths), values, None);
            Ok(Arc::new(list.map_err(broken)?) as ArrayRef)
        };
        texts.iter().zip(lengths).zip(attributes).map(list).collect()
    }

    fn has(&self, _keys: &[ArrayRef]) -> Result<BooleanArray> {
        bail!(UnsupportedMethod, "a dictionary of layout REGEXP_TREE does not say whether it has a key")
    }

    /// Visits the nodes, whose columns do not depend on the attributes.
    fn visit_columns(&self, columns: &[usize], visit: &mut VisitRows<'_>) -> Result<()> {
        let rows = self.rows.nested(VALUES)?.into_iter().enumerate().flat_map(|(segment, rows)| {
            let first = (segment as u64) << SEGMENT_BITS;
            (0..rows.len() as u64 - 1).map(move |row| first + row)
        });
        let rows: Vec<u64> = rows.collect();
        rows.chunks(SCAN_BLOCK_ROWS).try_for_each(|payloads| {
            let hits = Hits { payloads: payloads.to_vec(), found: vec![true; payloads.len()] };
            visit(payloads.len(), self.rows.get(columns, &hits)?)
        })
    }

    fn column_count(&self) -> usize {
        node_columns().len()
    }

    fn storable(&self) -> Option<&dyn Storable> {
        Some(self)
    }

    fn memory_bytes(&self) -> u64 {
        self.backing.memory_bytes(self.stats().bytes_allocated, self.other_bytes())
    }

    fn check(&self) -> Result<()> {
        self.backing.check()
    }

    fn is_damaged(&self) -> bool {
        self.backing.is_damaged()
    }

    fn stats(&self) -> DictionaryStats {
        self.counters.fill(DictionaryStats {
            element_count: self.nodes.len() as u64,
            bytes_allocated: (self.other_bytes() + self.rows.heap_bytes()) as u64,
            load_factor: 1.0,
            ..DictionaryStats::default()
        })
    }
}

impl Storable for RegexpTree {
    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.check()?;
        self.rows.save(image)
    }
}

fn broken(error: arrow::error::ArrowError) -> Error {
    Error::logical(format!("the values of a regular expression tree do not fit together: {error}"))
}
