//! REGEXP_TREE: a tree of regular expressions with attributes; a lookup is a text that they may match.
//!
//! A node counts for a text if its expression and those of all nodes above it match. Nodes are gone through
//! in order of their identifiers, those below a node before it; an attribute has the value of the first
//! node that has one, or of the next one above that. A value may have `\1` or `$1` and so on in it: what the
//! group of the node's own expression matched, nothing if it has no such group. Where that is all of a value and
//! nothing was matched, the node says that there is no value: nor is one of a later node taken then, unless all are
//! asked for.
//!
//! # Layout
//!
//! A file has the nodes as the source gave them, as the attributes of other layouts are: five columns. All of it is read
//! and all expressions are compiled when it is opened. From then on texts of values are read where they are, in the file
//! or in memory.
//!
//! # Cost
//!
//! All expressions are run over a text at once; groups are looked for only where a value names one. Beside the nodes as
//! they came, a node takes its compiled expressions, 56 bytes, and 16 a value. What the matching remembers of texts as it
//! goes, up to [`super::tree_expressions::REMEMBERED_MAX`] of each thread that looks up, is not counted.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::interleave;
use arrow::datatypes::UInt64Type;
use basalt_base::re2::to_regex_syntax;
use basalt_base::{Error, Result, SqlType, bail};
use regex_automata::meta::Regex;
use regex_automata::{Input, PatternID, PatternSet};

use super::SCAN_BLOCK_ROWS;
use super::tree_expressions::{
    RegexpFlags, compile_groups, compile_set, expanded, names_group, wrong_regexp,
};
use crate::attribute::Attribute;
use crate::block::split_block;
use crate::counters::Counters;
use crate::dictionary::{Dictionary, VisitRows};
use crate::image::{Backing, ImageReader, ImageWriter};
use crate::layout_kind::{KeyForm, LayoutKind};
use crate::spec::DictionarySpec;
use crate::stats::DictionaryStats;
use crate::table::Hits;
use crate::values::{SEGMENT_BITS, Values};

/// Nodes one below the other.
const DEPTH_MAX: usize = 100;

/// Columns of the nodes.
const NAMES: usize = 3;
const VALUES: usize = 4;

type Read = dyn Fn(&SqlType, &[Vec<u8>]) -> Result<ArrayRef> + Send + Sync;

/// Reads texts as values of a type: where the values of attributes come from.
#[derive(Clone)]
pub struct ReadValues(Arc<Read>);

struct RegexpTree {
    attributes: Vec<Attribute>,
    /// In the order in which they are gone through.
    nodes: Vec<Node>,
    /// The expressions of `nodes`: each is a pattern.
    set: Regex,
    /// What they take, compiled, together and with their groups.
    compiled_bytes: usize,
    read_values: ReadValues,
    /// The nodes as they came.
    rows: Values,
    /// The texts in each segment of these.
    texts: Vec<BinaryViewArray>,
    counters: Counters,
    backing: Backing,
}

struct Node {
    id: u64,
    /// A position in [`RegexpTree::nodes`].
    parent: Option<usize>,
    /// With its groups, if a value names one.
    regex: Option<Box<Regex>>,
    /// In order of attribute.
    values: Vec<Value>,
}

/// Where a value's text is.
#[derive(Clone, Copy)]
struct Value {
    attribute: usize,
    /// Among [`RegexpTree::texts`].
    segment: u32,
    at: u32,
}

/// How many values of an attribute a lookup takes of the nodes that match.
#[derive(Clone, Copy)]
enum Take {
    /// What the first node says that has the attribute.
    First,
    /// At most so many.
    All(usize),
}

/// Array and row of the values of a column.
type Picks = Vec<(usize, usize)>;

/// A row of the source.
struct Row {
    id: u64,
    parent: u64,
    /// In the syntax of the library.
    regexp: String,
    values: Vec<Value>,
}

/// The columns of the source, whatever the attributes are.
pub(crate) fn regexp_tree_columns() -> [(&'static str, SqlType); 5] {
    let texts = SqlType::array_of(SqlType::String);
    [
        ("id", SqlType::UInt64),
        ("parent_id", SqlType::UInt64),
        ("regexp", SqlType::String),
        ("keys", texts.clone()),
        ("values", texts),
    ]
}

/// Loads a dictionary from blocks of nodes: identifier, that of the parent or 0, expression, names of
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

/// A dictionary over the nodes that [`Dictionary::save`] wrote; their expressions are compiled now.
pub(crate) fn open_regexp_tree(
    spec: DictionarySpec,
    image: &mut ImageReader<'_>,
    backing: Backing,
) -> Result<Arc<dyn Dictionary>> {
    // All of it is read.
    backing.check()?;
    let rows = Values::open(&node_columns(), false, image)?;
    if !image.is_at_end() {
        return Err(ImageReader::unfit());
    }
    tree_of(spec, rows, backing)
}

/// The columns of the nodes, as they are kept.
pub(crate) fn node_columns() -> Vec<Attribute> {
    let columns = regexp_tree_columns().into_iter().map(|(name, ty)| Attribute {
        name: name.into(),
        default: ty.default_array(1),
        ty,
        hierarchical: false,
        injective: false,
    });
    columns.collect()
}

/// A block of nodes, checked.
pub(crate) fn node_block(block: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let (_, ids, others) = split_block(&[SqlType::UInt64], &node_columns()[1..], block, false)?;
    Ok([ids, others].concat())
}

fn tree_of(spec: DictionarySpec, rows: Values, backing: Backing) -> Result<Arc<dyn Dictionary>> {
    let DictionarySpec { attributes, layout, .. } = spec;
    let (mut nodes, texts) = read_rows(&rows, &attributes)?;
    nodes.sort_by_key(|node| node.id);
    let order = order(&nodes)?;
    let expressions: Vec<(u64, &str)> =
        order.iter().map(|&at| (nodes[at].id, nodes[at].regexp.as_str())).collect();
    let set = compile_set(&expressions, layout.regexp_flags)?;
    let nodes = into_nodes(&nodes, &order, &texts, layout.regexp_flags)?;
    let groups = nodes.iter().filter_map(|node| node.regex.as_ref()).map(|regex| regex.memory_usage());
    let compiled_bytes = set.memory_usage() + groups.sum::<usize>();
    let (read_values, counters) = (layout.read_values, Counters::default());
    let tree =
        RegexpTree { attributes, nodes, set, compiled_bytes, read_values, rows, texts, counters, backing };
    tree.check_values()?;
    Ok(Arc::new(tree))
}

/// The nodes, and the texts of each segment.
fn read_rows(rows: &Values, attributes: &[Attribute]) -> Result<(Vec<Row>, Vec<BinaryViewArray>)> {
    let (mut nodes, mut texts) = (Vec::new(), Vec::new());
    let lists = rows.nested(NAMES)?.into_iter().zip(rows.nested(VALUES)?);
    for (segment, (names, values)) in lists.enumerate() {
        let (names, values) = (names.as_list::<i32>(), values.as_list::<i32>());
        let first = (segment as u64) << SEGMENT_BITS;
        let payloads: Vec<u64> = (0..names.len() as u64 - 1).map(|row| first + row).collect();
        let found = vec![true; payloads.len()];
        let columns = rows.get(&[0, 1, 2], &Hits { payloads, found })?;
        let (ids, parents) = (
            columns[0].as_primitive::<UInt64Type>().values(),
            columns[1].as_primitive::<UInt64Type>().values(),
        );
        let regexps = columns[2].as_binary_view();
        for (row, (&id, &parent)) in ids.iter().zip(parents).enumerate() {
            // The default stands before the rows.
            let (names, texts) = (names.value(row + 1), &values.value_offsets()[row + 1..row + 3]);
            let values =
                known_values(id, &names, (texts[0] as u32, texts[1] as u32), segment as u32, attributes)?;
            let regexp = to_regex_syntax(regexps.value(row))
                .map_err(|error| wrong_regexp(Some(id), error.message()))?;
            nodes.push(Row { id, parent, regexp, values });
        }
        texts.push(values.values().as_binary_view().clone());
    }
    Ok((nodes, texts))
}

/// The values of a node, from place `first` to `end` of its segment, whose attributes have these names.
fn known_values(
    id: u64,
    names: &ArrayRef,
    (first, end): (u32, u32),
    segment: u32,
    attributes: &[Attribute],
) -> Result<Vec<Value>> {
    if id == 0 {
        bail!(IncorrectDictionaryDefinition, "0 is no identifier of a node: it stands for no parent");
    }
    let count = (end - first) as usize;
    if names.len() != count {
        bail!(IncorrectDictionaryDefinition, "node {id} has {} keys and {count} values", names.len());
    }
    let mut known = Vec::new();
    for (name, at) in names.as_binary_view().iter().zip(first..) {
        let name = name.unwrap_or_default();
        // A node may have attributes that this dictionary does not.
        if let Some(attribute) = attributes.iter().position(|of| of.name.as_bytes() == name) {
            known.push(Value { attribute, segment, at });
        }
    }
    known.sort_by_key(|value| value.attribute);
    Ok(known)
}

/// Positions of `rows`, which are in order of identifier: what is below a node comes before it.
fn order(rows: &[Row]) -> Result<Vec<usize>> {
    if let Some(pair) = rows.windows(2).find(|pair| pair[0].id == pair[1].id) {
        bail!(IncorrectDictionaryDefinition, "two nodes have the identifier {}", pair[0].id);
    }
    let mut below = HashMap::<u64, Vec<usize>>::new();
    for (at, row) in rows.iter().enumerate() {
        if row.parent != 0 && rows.binary_search_by_key(&row.parent, |row| row.id).is_err() {
            bail!(
                IncorrectDictionaryDefinition,
                "node {} has the parent {}, which is not there",
                row.id,
                row.parent
            );
        }
        below.entry(row.parent).or_default().push(at);
    }
    let mut order = Vec::with_capacity(rows.len());
    let children = |id: u64| below.get(&id).map_or(&[][..], Vec::as_slice);
    // Each node on the way down, and how many of its children are done.
    let mut path: Vec<(Option<usize>, usize)> = vec![(None, 0)];
    while let Some((at, done)) = path.last_mut() {
        let id = at.map_or(0, |at| rows[at].id);
        if let Some(&child) = children(id).get(*done) {
            *done += 1;
            if path.len() > DEPTH_MAX {
                bail!(IncorrectDictionaryDefinition, "more than {DEPTH_MAX} nodes are one below the other");
            }
            path.push((Some(child), 0));
        } else {
            order.extend(*at);
            path.pop();
        }
    }
    if order.len() < rows.len() {
        bail!(IncorrectDictionaryDefinition, "nodes of the tree are their own parents");
    }
    Ok(order)
}

/// The rows in this order.
fn into_nodes(
    rows: &[Row],
    order: &[usize],
    texts: &[BinaryViewArray],
    flags: RegexpFlags,
) -> Result<Vec<Node>> {
    let positions: HashMap<u64, usize> =
        order.iter().enumerate().map(|(position, &at)| (rows[at].id, position)).collect();
    let node = |&at: &usize| {
        let row = &rows[at];
        let has_groups = row.values.iter().any(|value| names_group(value.text(texts)));
        let regex = has_groups.then(|| compile_groups(row.id, &row.regexp, flags)).transpose()?;
        Ok(Node {
            id: row.id,
            parent: positions.get(&row.parent).copied(),
            regex: regex.map(Box::new),
            values: row.values.clone(),
        })
    };
    order.iter().map(node).collect()
}

impl Value {
    fn text<'a>(&self, texts: &'a [BinaryViewArray]) -> &'a [u8] {
        let (texts, at) = (&texts[self.segment as usize], self.at as usize);
        if texts.is_null(at) { &[] } else { texts.value(at) }
    }
}

impl Take {
    fn limit(self) -> usize {
        match self {
            Take::First => 1,
            Take::All(most) => most,
        }
    }
}

impl ReadValues {
    pub fn new(
        read: impl Fn(&SqlType, &[Vec<u8>]) -> Result<ArrayRef> + Send + Sync + 'static,
    ) -> ReadValues {
        ReadValues(Arc::new(read))
    }
}

/// Reads nothing: for layouts that have no values as texts.
impl Default for ReadValues {
    fn default() -> ReadValues {
        ReadValues::new(|ty, _| Err(Error::logical(format!("nothing reads texts as values of {ty}"))))
    }
}

impl fmt::Debug for ReadValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadValues")
    }
}

impl PartialEq for ReadValues {
    fn eq(&self, other: &ReadValues) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl RegexpTree {
    /// What it takes beside the nodes as they came.
    fn bytes_beside(&self) -> usize {
        let values: usize = self.nodes.iter().map(|node| node.values.capacity() * size_of::<Value>()).sum();
        let groups = self.nodes.iter().filter(|node| node.regex.is_some()).count() * size_of::<Regex>();
        let nodes = self.nodes.capacity() * size_of::<Node>();
        size_of::<RegexpTree>() + nodes + values + groups + self.compiled_bytes
    }

    /// A value that no lookup changes must be one of its attribute's type.
    fn check_values(&self) -> Result<()> {
        for node in &self.nodes {
            for value in &node.values {
                let text = value.text(&self.texts);
                if !names_group(text) {
                    (self.read_values.0)(&self.attributes[value.attribute].ty, &[text.to_vec()])
                        .map_err(|error| error.within(format!("node {}", node.id)))?;
                }
            }
        }
        Ok(())
    }

    /// The values of each of `wanted` for `text`.
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
    fn key_types(&self) -> &[SqlType] {
        &[SqlType::String]
    }

    fn key_form(&self) -> KeyForm {
        LayoutKind::RegexpTree.key_form()
    }

    fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    fn layout(&self) -> &'static str {
        LayoutKind::RegexpTree.name()
    }

    /// A text counts as found if one of the attributes has a value.
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
            let Attribute { ty, default, .. } = &self.attributes[at];
            let values = (self.read_values.0)(ty, texts)?;
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
            let ty = &self.attributes[at].ty;
            let values = (self.read_values.0)(ty, texts)?;
            let list =
                ListArray::try_new(ty.element_field(), OffsetBuffer::from_lengths(lengths), values, None);
            Ok(Arc::new(list.map_err(broken)?) as ArrayRef)
        };
        texts.iter().zip(lengths).zip(attributes).map(list).collect()
    }

    fn has(&self, _keys: &[ArrayRef]) -> Result<BooleanArray> {
        bail!(UnsupportedMethod, "a dictionary of layout REGEXP_TREE does not say whether it has a key")
    }

    /// Of the nodes, whose columns are their own.
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

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.check()?;
        self.rows.save(image)
    }

    fn memory_bytes(&self) -> u64 {
        self.backing.memory_bytes(self.stats().bytes_allocated, self.bytes_beside())
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
            bytes_allocated: (self.bytes_beside() + self.rows.heap_bytes()) as u64,
            load_factor: 1.0,
            ..DictionaryStats::default()
        })
    }
}

fn broken(error: arrow::error::ArrowError) -> Error {
    Error::logical(format!("the values of a regular expression tree do not fit together: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: u64, parent: u64) -> Row {
        Row { id, parent, regexp: String::new(), values: Vec::new() }
    }

    #[test]
    fn what_is_below_comes_first() {
        let rows = [row(1, 0), row(2, 0), row(3, 2), row(4, 2), row(5, 3)];
        let order = order(&rows).expect("a tree");
        let ids: Vec<u64> = order.iter().map(|&at| rows[at].id).collect();
        assert_eq!(ids, [1, 5, 3, 4, 2]);
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let chain: Vec<Row> = (1..200).map(|id| row(id, id - 1)).collect();
        for rows in
            [vec![row(1, 1)], vec![row(1, 2), row(2, 1)], vec![row(1, 9)], vec![row(1, 0), row(1, 0)], chain]
        {
            assert!(order(&rows).is_err());
        }
    }
}
