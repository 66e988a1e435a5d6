//! The nodes of a REGEXP_TREE: read from the columns of the source, and put into the order in which they are visited.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray};
use arrow::datatypes::UInt64Type;
use basalt_base::re2::to_regex_syntax;
use basalt_base::{Result, SqlType, bail};
use regex_automata::meta::Regex;

use super::tree_expressions::{RegexpFlags, compile_groups, names_group, wrong_regexp};
use crate::attribute::Attribute;
use crate::block::split_block;
use crate::key_types::regexp_tree_columns;
use crate::table::Hits;
use crate::values::{SEGMENT_BITS, Values};

/// The height of the tree.
const DEPTH_MAX: usize = 100;

/// Positions of columns of the nodes.
const NAMES: usize = 3;
pub(super) const VALUES: usize = 4;

pub(super) struct Node {
    pub(super) id: u64,
    /// The position of the parent.
    pub(super) parent: Option<usize>,
    /// The expression with its groups, if a value refers to one.
    pub(super) regex: Option<Box<Regex>>,
    /// In order of attribute.
    pub(super) values: Vec<Value>,
}

/// Where the text of a value is.
#[derive(Clone, Copy)]
pub(super) struct Value {
    pub(super) attribute: usize,
    /// The segment of the columns.
    pub(super) segment: u32,
    pub(super) at: u32,
}

/// A row of the source.
pub(super) struct Row {
    pub(super) id: u64,
    pub(super) parent: u64,
    /// In the syntax of the `regex` crate.
    pub(super) regexp: String,
    pub(super) values: Vec<Value>,
}

/// The columns of the nodes as attributes.
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

/// Checks a block of nodes.
pub(crate) fn node_block(block: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let (_, ids, others) = split_block(&[SqlType::UInt64], &node_columns()[1..], block, false)?;
    Ok([ids, others].concat())
}

/// The nodes, and the texts of each segment.
pub(super) fn read_rows(rows: &Values, attributes: &[Attribute]) -> Result<(Vec<Row>, Vec<BinaryViewArray>)> {
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
            // Row 0 is the default.
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

/// The values of a node whose attributes have these names. Their texts are from `first` to `end` of the segment.
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
        // A node may have attributes that this dictionary does not have.
        if let Some(attribute) = attributes.iter().position(|of| of.name.as_bytes() == name) {
            known.push(Value { attribute, segment, at });
        }
    }
    known.sort_by_key(|value| value.attribute);
    Ok(known)
}

/// The order in which `rows`, which are sorted by identifier, are visited: each after its descendants.
pub(super) fn order(rows: &[Row]) -> Result<Vec<usize>> {
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
    // The path to the current node, and how many children of each node are done.
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

/// The rows in this order, as nodes.
pub(super) fn into_nodes(
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
    pub(super) fn text<'a>(&self, texts: &'a [BinaryViewArray]) -> &'a [u8] {
        let (texts, at) = (&texts[self.segment as usize], self.at as usize);
        if texts.is_null(at) { &[] } else { texts.value(at) }
    }
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
