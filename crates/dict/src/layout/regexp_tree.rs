//! REGEXP_TREE: a tree of regular expressions with attributes; a lookup is a text that they may match.
//!
//! A node counts for a text if its expression and those of all nodes above it match. Nodes are gone through
//! in order of their identifiers, those below a node before it; an attribute has the value of the first
//! node that has one, or of the next one above that. A value may have `\1` or `$1` and so on in it: what the
//! group of the node's own expression matched, nothing if it has no such group.
//!
//! # Layout
//!
//! A file has the nodes as the source gave them, as a column store of five columns. All of it is read and all expressions
//! are compiled when it is opened; nothing answers from its pages.
//!
//! # Cost
//!
//! All expressions are run over a text at once; groups are looked for only where a value names one.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::interleave;
use arrow::datatypes::UInt64Type;
use basalt_base::{Error, Result, SqlType, bail};
use regex::bytes::{Captures, Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use crate::counters::Counters;
use crate::dictionary::{Attribute, Dictionary, DictionaryStats};
use crate::image::{Backing, ImageReader, ImageWriter};
use crate::layout_kind::{KeyForm, LayoutKind};
use crate::spec::DictionarySpec;
use crate::table::Hits;
use crate::values::ColumnStore;

/// Memory that the compiled expressions may take.
const SIZE_MAX: usize = 256 << 20;
/// Nodes one below the other.
const DEPTH_MAX: usize = 100;

/// Reads texts as values of a type: where the values of attributes come from.
pub type ReadValues = dyn Fn(&SqlType, &[Vec<u8>]) -> Result<ArrayRef> + Send + Sync;

struct RegexpTree {
    attributes: Vec<Attribute>,
    /// In the order in which they are gone through.
    nodes: Vec<Node>,
    /// The expressions of `nodes`.
    set: RegexSet,
    read_values: Arc<ReadValues>,
    /// As they came.
    blocks: Vec<Vec<ArrayRef>>,
    counters: Counters,
    /// The file that it was read from.
    backing: Backing,
}

struct Node {
    id: u64,
    /// A position in [`RegexpTree::nodes`].
    parent: Option<usize>,
    /// With its groups, if a value names one.
    regex: Option<Regex>,
    /// Attribute and value, in order of attribute.
    values: Vec<(usize, Value)>,
}

enum Value {
    Text(Vec<u8>),
    /// Texts, and the groups between them.
    Template(Vec<Piece>),
}

enum Piece {
    Text(Vec<u8>),
    Group(usize),
}

/// Array and row of the values of a column.
type Picks = Vec<(usize, usize)>;

/// A row of the source.
struct Row {
    id: u64,
    parent: u64,
    regexp: String,
    values: Vec<(usize, Vec<u8>)>,
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
pub fn build_regexp_tree(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
    read_values: Arc<ReadValues>,
) -> Result<Arc<dyn Dictionary>> {
    let blocks = blocks.collect::<Result<Vec<_>>>()?;
    tree_of(spec.resolved()?.attributes, blocks, read_values, Backing::default())
}

/// A dictionary over the nodes that [`Dictionary::save`] wrote; their expressions are compiled now.
pub(crate) fn open_regexp_tree(
    spec: DictionarySpec,
    image: &mut ImageReader<'_>,
    backing: Backing,
    read_values: Arc<ReadValues>,
) -> Result<Arc<dyn Dictionary>> {
    // All of it is read.
    backing.check()?;
    let nodes = ColumnStore::new(&node_columns()).open(image)?;
    if !image.is_at_end() {
        return Err(ImageReader::unfit());
    }
    let rows = nodes.rows();
    let hits = Hits { payloads: (0..rows as u64).collect(), found: vec![true; rows] };
    let block =
        (0..node_columns().len()).map(|column| nodes.get(column, &hits)).collect::<Result<Vec<_>>>()?;
    tree_of(spec.attributes, vec![block], read_values, backing)
}

/// The columns of the nodes, to be kept in a file.
fn node_columns() -> Vec<Attribute> {
    let columns = regexp_tree_columns().into_iter().map(|(name, ty)| Attribute {
        name: name.into(),
        default: ty.default_array(1),
        ty,
        hierarchical: false,
        injective: false,
    });
    columns.collect()
}

fn tree_of(
    attributes: Vec<Attribute>,
    blocks: Vec<Vec<ArrayRef>>,
    read_values: Arc<ReadValues>,
    backing: Backing,
) -> Result<Arc<dyn Dictionary>> {
    let mut rows = Vec::new();
    for block in &blocks {
        read_rows(block, &attributes, &mut rows)?;
    }
    rows.sort_by_key(|row| row.id);
    let order = order(&rows)?;
    let set = RegexSetBuilder::new(order.iter().map(|&at| rows[at].regexp.as_str()))
        .size_limit(SIZE_MAX)
        .build()
        .map_err(|error| wrong_regexp(&error))?;
    let nodes = nodes(&rows, &order)?;
    let counters = Counters::default();
    let tree = RegexpTree { attributes, nodes, set, read_values, blocks, counters, backing };
    tree.check_values()?;
    Ok(Arc::new(tree))
}

fn wrong_regexp(error: &regex::Error) -> Error {
    Error::new(
        basalt_base::ErrorCode::IncorrectDictionaryDefinition,
        format!("a regular expression of the dictionary is wrong: {error}"),
    )
}

fn read_rows(block: &[ArrayRef], attributes: &[Attribute], rows: &mut Vec<Row>) -> Result<()> {
    let [ids, parents, regexps, names, values] = block else {
        return Err(Error::logical("a block of a regular expression tree has five columns"));
    };
    let (ids, parents) = (ids.as_primitive::<UInt64Type>(), parents.as_primitive::<UInt64Type>());
    let (regexps, names, values) =
        (regexps.as_binary_view(), names.as_list::<i32>(), values.as_list::<i32>());
    for row in 0..ids.len() {
        let id = ids.value(row);
        let (names, values) = (names.value(row), values.value(row));
        if id == 0 {
            bail!(IncorrectDictionaryDefinition, "0 is no identifier of a node: it stands for no parent");
        }
        if names.len() != values.len() {
            bail!(
                IncorrectDictionaryDefinition,
                "node {id} has {} keys and {} values",
                names.len(),
                values.len()
            );
        }
        let mut known = Vec::new();
        for (name, value) in names.as_binary_view().iter().zip(values.as_binary_view()) {
            let name = name.unwrap_or_default();
            // A node may have attributes that this dictionary does not.
            if let Some(at) = attributes.iter().position(|attribute| attribute.name.as_bytes() == name) {
                known.push((at, value.unwrap_or_default().to_vec()));
            }
        }
        known.sort_by_key(|&(at, _)| at);
        let regexp = String::from_utf8_lossy(regexps.value(row)).into_owned();
        rows.push(Row { id, parent: parents.value(row), regexp, values: known });
    }
    Ok(())
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

fn nodes(rows: &[Row], order: &[usize]) -> Result<Vec<Node>> {
    let positions: HashMap<u64, usize> =
        order.iter().enumerate().map(|(position, &at)| (rows[at].id, position)).collect();
    let node = |&at: &usize| {
        let row = &rows[at];
        let values: Vec<(usize, Value)> =
            row.values.iter().map(|(at, text)| (*at, Value::parse(text))).collect();
        let has_template = values.iter().any(|(_, value)| matches!(value, Value::Template(_)));
        let regex = has_template.then(|| RegexBuilder::new(&row.regexp).size_limit(SIZE_MAX).build());
        Ok(Node {
            id: row.id,
            parent: positions.get(&row.parent).copied(),
            regex: regex.transpose().map_err(|error| wrong_regexp(&error))?,
            values,
        })
    };
    order.iter().map(node).collect()
}

impl Value {
    fn parse(text: &[u8]) -> Value {
        let mut pieces = vec![Piece::Text(Vec::new())];
        let mut rest = text;
        while let Some((&byte, behind)) = rest.split_first() {
            rest = behind;
            if let (b'\\' | b'$', Some(&digit)) = (byte, behind.first())
                && digit.is_ascii_digit()
            {
                pieces.push(Piece::Group(usize::from(digit - b'0')));
                rest = &behind[1..];
            } else if let Some(Piece::Text(text)) = pieces.last_mut() {
                text.push(byte);
            } else {
                pieces.push(Piece::Text(vec![byte]));
            }
        }
        if pieces.len() == 1 { Value::Text(text.to_vec()) } else { Value::Template(pieces) }
    }

    fn text(&self, groups: Option<&Captures<'_>>) -> Vec<u8> {
        match self {
            Value::Text(text) => text.clone(),
            Value::Template(pieces) => pieces
                .iter()
                .flat_map(|piece| match piece {
                    Piece::Text(text) => text.as_slice(),
                    Piece::Group(group) => {
                        groups.and_then(|groups| groups.get(*group)).map_or(&[][..], |found| found.as_bytes())
                    }
                })
                .copied()
                .collect(),
        }
    }
}

impl RegexpTree {
    /// A value that no lookup changes must be one of its attribute's type.
    fn check_values(&self) -> Result<()> {
        for node in &self.nodes {
            for (at, value) in &node.values {
                if let Value::Text(text) = value {
                    (self.read_values)(&self.attributes[*at].ty, std::slice::from_ref(text))
                        .map_err(|error| error.within(format!("node {}", node.id)))?;
                }
            }
        }
        Ok(())
    }

    /// The values of each of `wanted` for `text`, at most `limit` each.
    fn values(&self, text: &[u8], wanted: &[usize], limit: usize) -> Vec<Vec<Vec<u8>>> {
        let mut found: Vec<Vec<Vec<u8>>> = vec![Vec::new(); wanted.len()];
        let matches = self.set.matches(text);
        let mut seen = vec![false; self.nodes.len()];
        let matches_up = |mut at: usize| loop {
            if !matches.matched(at) {
                return false;
            }
            match self.nodes[at].parent {
                Some(parent) => at = parent,
                None => return true,
            }
        };
        for first in matches.iter().filter(|&at| matches_up(at)) {
            let mut next = Some(first);
            while let Some(at) = next.filter(|&at| !seen[at]) {
                seen[at] = true;
                self.nodes[at].add_values(text, wanted, limit, &mut found);
                next = self.nodes[at].parent;
            }
            if found.iter().all(|values| values.len() >= limit) {
                break;
            }
        }
        found
    }

    fn keys<'a>(&self, keys: &'a [ArrayRef]) -> Result<&'a BinaryViewArray> {
        match keys {
            [key] => key.as_binary_view_opt(),
            _ => None,
        }
        .ok_or_else(|| Error::logical("the key of a REGEXP_TREE dictionary is one String"))
    }
}

impl Node {
    fn add_values(&self, text: &[u8], wanted: &[usize], limit: usize, found: &mut [Vec<Vec<u8>>]) {
        let groups = self.regex.as_ref().and_then(|regex| regex.captures(text));
        for (values, at) in found.iter_mut().zip(wanted) {
            let own = self.values.iter().find(|(own, _)| own == at);
            if let Some((_, value)) = own.filter(|_| values.len() < limit) {
                values.push(value.text(groups.as_ref()));
            }
        }
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
            let values = self.values(key.unwrap_or_default(), attributes, 1);
            for (at, mut values) in values.into_iter().enumerate() {
                picks[at].push(if values.is_empty() { (0, 0) } else { (1, texts[at].len()) });
                found[row] |= !values.is_empty();
                texts[at].append(&mut values);
            }
        }
        self.counters.add(&found);
        let column = |((texts, picks), &at): ((&Vec<Vec<u8>>, &Picks), &usize)| {
            let Attribute { ty, default, .. } = &self.attributes[at];
            let values = (self.read_values)(ty, texts)?;
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
            let values = self.values(key.unwrap_or_default(), attributes, limit.unwrap_or(usize::MAX));
            for (at, mut values) in values.into_iter().enumerate() {
                lengths[at].push(values.len());
                texts[at].append(&mut values);
            }
        }
        let list = |((texts, lengths), &at): ((&Vec<Vec<u8>>, Vec<usize>), &usize)| {
            let ty = &self.attributes[at].ty;
            let values = (self.read_values)(ty, texts)?;
            let list =
                ListArray::try_new(ty.element_field(), OffsetBuffer::from_lengths(lengths), values, None);
            Ok(Arc::new(list.map_err(broken)?) as ArrayRef)
        };
        texts.iter().zip(lengths).zip(attributes).map(list).collect()
    }

    fn has(&self, _keys: &[ArrayRef]) -> Result<BooleanArray> {
        bail!(UnsupportedMethod, "a dictionary of layout REGEXP_TREE does not say whether it has a key")
    }

    fn scan(&self) -> Result<Vec<Vec<ArrayRef>>> {
        Ok(self.blocks.clone())
    }

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        let mut nodes = ColumnStore::new(&node_columns());
        for block in &self.blocks {
            nodes.push(block, block[0].len())?;
        }
        nodes.shrink()?;
        nodes.save(image)
    }

    fn check(&self) -> Result<()> {
        self.backing.check()
    }

    fn is_damaged(&self) -> bool {
        self.backing.is_damaged()
    }

    fn stats(&self) -> DictionaryStats {
        let arrays = self.blocks.iter().flatten().map(|array| array.get_array_memory_size()).sum::<usize>();
        let bytes = size_of::<RegexpTree>() + arrays + self.nodes.capacity() * size_of::<Node>();
        self.counters.fill(DictionaryStats {
            element_count: self.nodes.len() as u64,
            bytes_allocated: bytes as u64,
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
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn a_value_without_groups_is_itself(text: Vec<u8>) {
            prop_assume!(!text.contains(&b'\\') && !text.contains(&b'$'));
            prop_assert_eq!(Value::parse(&text).text(None), text);
        }
    }
}
