//! `dictGetHierarchy(dictionary, key)`: the key and its ancestors; `dictGetRoot(dictionary, key)`: the last of them;
//! `dictIsIn(dictionary, child, ancestor)`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt8Array, UInt64Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::lookup::Lookup;
use crate::FunctionContext;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Argument, Arity, Bound, Operand, Volatility};

/// Ancestors beyond this depth are assumed to be a cycle and left out.
const DEPTH_MAX: usize = 1_000;

/// A dictionary with a parent attribute.
pub(super) struct Hierarchy {
    pub(super) lookup: Lookup,
    pub(super) attribute: usize,
}

impl Hierarchy {
    pub(super) fn bind(
        function: &str,
        name: &Argument,
        key: &Argument,
        context: &FunctionContext,
    ) -> Result<Hierarchy> {
        let lookup = Lookup::bind(function, name, std::slice::from_ref(key), context)?;
        let attribute = lookup.dictionary.attributes().iter().position(|attribute| attribute.hierarchical);
        match attribute {
            Some(attribute) if lookup.dictionary.key_types() == [SqlType::UInt64] => {
                Ok(Hierarchy { lookup, attribute })
            }
            _ => Err(Error::new(
                ErrorCode::UnsupportedMethod,
                format!("function `{function}` takes a dictionary with a HIERARCHICAL attribute"),
            )),
        }
    }

    /// The attribute's value at the root: its default; `None` if that is NULL.
    fn root(&self) -> Result<Option<u64>> {
        let default = &self.lookup.dictionary.attributes()[self.attribute].default;
        let default = cast(default, &DataType::UInt64).map_err(Error::of_arrow)?;
        Ok(default.as_primitive::<UInt64Type>().iter().next().flatten())
    }

    /// The chain of each row's key: the key itself, if it exists, and its ancestors. The last ancestor need not
    /// exist.
    fn chains(&self, operands: &[Operand], rows: usize) -> Result<Vec<Vec<u64>>> {
        let (keys, nulls) = self.lookup.keys(operands, rows)?;
        let mut chains: Vec<Vec<u64>> = vec![Vec::new(); rows];
        let first = keys[0].as_primitive::<UInt64Type>();
        // Rows whose chain continues, with the next key.
        let mut open: Vec<(usize, u64)> = (0..rows)
            .filter(|&row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)))
            .map(|row| (row, first.value(row)))
            .collect();
        let root = self.root()?;
        for _ in 0..DEPTH_MAX {
            if open.is_empty() {
                break;
            }
            let keys: ArrayRef = Arc::new(UInt64Array::from_iter_values(open.iter().map(|&(_, key)| key)));
            let (values, found) = self.lookup.dictionary.get(&[self.attribute], &[keys])?;
            let parents = cast(&values[0], &DataType::UInt64).map_err(Error::of_arrow)?;
            let parents = parents.as_primitive::<UInt64Type>();
            let mut next = Vec::with_capacity(open.len());
            for (index, &(row, key)) in open.iter().enumerate() {
                if !found.value(index) {
                    continue;
                }
                if chains[row].is_empty() {
                    chains[row].push(key);
                }
                let parent = parents.value(index);
                if parents.is_valid(index) && Some(parent) != root && !chains[row].contains(&parent) {
                    chains[row].push(parent);
                    next.push((row, parent));
                }
            }
            open = next;
        }
        Ok(chains)
    }
}

/// An array of keys for each row.
pub(super) fn key_lists(lists: Vec<Vec<u64>>) -> Result<ArrayRef> {
    let offsets = OffsetBuffer::from_lengths(lists.iter().map(Vec::len));
    let keys = UInt64Array::from_iter_values(lists.into_iter().flatten());
    let field = SqlType::UInt64.element_field();
    Ok(Arc::new(ListArray::try_new(field, offsets, Arc::new(keys), None).map_err(Error::of_arrow)?))
}

pub(super) static DICT_GET_HIERARCHY: Definition =
    Definition::new("dictGetHierarchy", Arity::Exactly(2), bind_dict_get_hierarchy)
        .volatility(Volatility::Stable);

fn bind_dict_get_hierarchy(call: &Call<'_>) -> Result<Bound> {
    let hierarchy = Hierarchy::bind(call.name, &call.args[0], &call.args[1], call.context)?;
    Ok(Bound::new(SqlType::array_of(SqlType::UInt64), move |operands: &[Operand], rows: usize| {
        let chains = hierarchy.chains(&operands[1..], rows)?;
        key_lists(chains)
    }))
}

pub(super) static DICT_GET_ROOT: Definition =
    Definition::new("dictGetRoot", Arity::Exactly(2), bind_dict_get_root).volatility(Volatility::Stable);

fn bind_dict_get_root(call: &Call<'_>) -> Result<Bound> {
    let hierarchy = Hierarchy::bind(call.name, &call.args[0], &call.args[1], call.context)?;
    Ok(Bound::new(SqlType::UInt64, move |operands: &[Operand], rows: usize| {
        let chains = hierarchy.chains(&operands[1..], rows)?;
        let roots = chains.iter().map(|chain| chain.last().copied().unwrap_or_default());
        Ok(Arc::new(UInt64Array::from_iter_values(roots)) as ArrayRef)
    }))
}

pub(super) static DICT_IS_IN: Definition =
    Definition::new("dictIsIn", Arity::Exactly(3), bind_dict_is_in).volatility(Volatility::Stable);

fn bind_dict_is_in(call: &Call<'_>) -> Result<Bound> {
    let hierarchy = Hierarchy::bind(call.name, &call.args[0], &call.args[1], call.context)?;
    let ancestor = Lookup::bind(call.name, &call.args[0], &call.args[2..], call.context)?;
    Ok(Bound::new(SqlType::UInt8, move |operands: &[Operand], rows: usize| {
        let chains = hierarchy.chains(&operands[1..], rows)?;
        let (ancestors, _) = ancestor.keys(&operands[2..], rows)?;
        let ancestors = ancestors[0].as_primitive::<UInt64Type>();
        let is_in = chains.iter().zip(ancestors.values()).map(|(chain, key)| u8::from(chain.contains(key)));
        Ok(Arc::new(UInt8Array::from_iter_values(is_in)) as ArrayRef)
    }))
}
