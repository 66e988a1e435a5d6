//! `dictGetChildren(dictionary, key)` and `dictGetDescendants(dictionary, key[, level])`: the keys below a key.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use basalt_base::{Error, Result, SqlType, bail};

use super::hierarchy::{Hierarchy, key_lists};
use crate::FunctionContext;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Argument, Arity, Bound, Operand, Volatility};

/// The children of each key, in the order of a scan.
type Children = HashMap<u64, Vec<u64>>;

/// Reads the dictionary once per query, at the first block.
struct Descendants {
    hierarchy: Hierarchy,
    children: OnceLock<Result<Children>>,
}

impl Descendants {
    fn children(&self) -> Result<&Children> {
        let read = || children_of(&self.hierarchy);
        self.children.get_or_init(read).as_ref().map_err(Error::clone)
    }

    fn keys(&self, operands: &[Operand], rows: usize) -> Result<Vec<Option<u64>>> {
        let (keys, nulls) = self.hierarchy.lookup.keys(operands, rows)?;
        let keys = keys[0].as_primitive::<UInt64Type>().values();
        let is_there = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        Ok(keys.iter().enumerate().map(|(row, &key)| is_there(row).then_some(key)).collect())
    }
}

fn children_of(hierarchy: &Hierarchy) -> Result<Children> {
    let mut children = Children::new();
    hierarchy.lookup.dictionary.visit_columns(&[0, 1 + hierarchy.attribute], &mut |_, block| {
        let parents = cast(&block[1], &DataType::UInt64).map_err(Error::of_arrow)?;
        let (keys, parents) = (block[0].as_primitive::<UInt64Type>(), parents.as_primitive::<UInt64Type>());
        for row in (0..keys.len()).filter(|&row| parents.is_valid(row)) {
            children.entry(parents.value(row)).or_default().push(keys.value(row));
        }
        Ok(())
    })?;
    Ok(children)
}

/// All keys below `key`, nearest first and each once, or only those `level` steps below it.
fn below(children: &Children, key: u64, level: usize) -> Vec<u64> {
    let mut seen = HashSet::new();
    let (mut found, mut front, mut steps) = (Vec::new(), vec![key], 0);
    while !front.is_empty() && (level == 0 || steps < level) {
        let next = front.iter().filter_map(|key| children.get(key)).flatten().copied();
        front = next.filter(|&key| seen.insert(key)).collect();
        steps += 1;
        if level == 0 {
            found.extend_from_slice(&front);
        }
    }
    if level == 0 { found } else { front }
}

pub(super) static DICT_GET_CHILDREN: Definition =
    Definition::new("dictGetChildren", Arity::Exactly(2), bind_dict_get_children)
        .volatility(Volatility::Stable);

fn bind_dict_get_children(call: &Call<'_>) -> Result<Bound> {
    bind(call.name, call.args, 1, call.context)
}

pub(super) static DICT_GET_DESCENDANTS: Definition =
    Definition::new("dictGetDescendants", Arity::Between(2, 3), bind_dict_get_descendants)
        .volatility(Volatility::Stable);

fn bind_dict_get_descendants(call: &Call<'_>) -> Result<Bound> {
    let level = match call.args.get(2) {
        None => 0,
        Some(level) => level_of(level)?,
    };
    bind(call.name, call.args, level, call.context)
}

fn level_of(level: &Argument) -> Result<usize> {
    if !level.ty.is_unsigned() {
        bail!(
            IllegalTypeOfArgument,
            "the third argument of `dictGetDescendants` is a constant unsigned integer, not {}",
            level.ty
        );
    }
    let Some(value) = &level.constant else {
        bail!(IllegalTypeOfArgument, "the third argument of `dictGetDescendants` is a constant");
    };
    let value = cast(value, &DataType::UInt64).map_err(Error::of_arrow)?;
    Ok(usize::try_from(value.as_primitive::<UInt64Type>().value(0)).unwrap_or(usize::MAX))
}

fn bind(function: &str, args: &[Argument], level: usize, context: &FunctionContext) -> Result<Bound> {
    let hierarchy = Hierarchy::bind(function, &args[0], &args[1], context)?;
    let descendants = Descendants { hierarchy, children: OnceLock::new() };
    Ok(Bound::new(SqlType::array_of(SqlType::UInt64), move |operands: &[Operand], rows: usize| {
        let keys = descendants.keys(&operands[1..], rows)?;
        let children = descendants.children()?;
        let lists = keys.into_iter().map(|key| key.map_or_else(Vec::new, |key| below(children, key, level)));
        key_lists(lists.collect()) as Result<ArrayRef>
    }))
}
