//! `dictGetKeys(dictionary, attribute, value)`: the keys with that value of the attribute.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, ListArray, StructArray, UInt32Array, new_empty_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{concat, take};
use arrow::row::{RowConverter, SortField};
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use basalt_dict::{Dictionary, KeyForm};

use super::lookup::{attribute_position, open};
use crate::scalar::conversion::{Exact, Inexact};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand, Volatility};

pub(super) static DICT_GET_KEYS: Definition =
    Definition::new("dictGetKeys", Arity::Exactly(3), bind_dict_get_keys)
        .sees_null()
        .volatility(Volatility::Stable);

fn bind_dict_get_keys(call: &Call<'_>) -> Result<Bound> {
    let dictionary = open(call.name, &call.args[0], call.context)?;
    if dictionary.range_type().is_some() || dictionary.key_form() == KeyForm::Text {
        bail!(
            UnsupportedMethod,
            "function `dictGetKeys` takes no dictionary of layout {}: it has no keys that could be listed",
            dictionary.layout()
        );
    }
    let attribute = attribute_position(call.name, &call.args[1], dictionary.as_ref());
    let attribute = attribute.map_err(|error| match error.code() {
        ErrorCode::BadArguments => Error::new(ErrorCode::IllegalColumn, error.message()),
        _ => error,
    })?;
    let ty = dictionary.attributes()[attribute].ty.clone();
    let to = if call.args[2].ty.accepts_null() { ty.clone().into_nullable() } else { ty };
    let value = Exact::new(&call.args[2].ty, &to, call.context, Inexact::Fails)?;
    let element = match dictionary.key_types() {
        [key] => key.clone(),
        keys => SqlType::tuple_of(keys.iter().cloned()),
    };
    let inverse = Inverse { dictionary, attribute, element: element.clone(), index: OnceLock::new() };
    Ok(Bound::new(SqlType::array_of(element), move |operands: &[Operand], rows: usize| {
        let values = value.convert(&operands[2].full(rows)?);
        inverse.keys(&values.map_err(|error| error.within("the value of `dictGetKeys`"))?)
    }))
}

/// The map from values of an attribute to keys, read once per query at the first block.
struct Inverse {
    dictionary: Arc<dyn Dictionary>,
    attribute: usize,
    element: SqlType,
    index: OnceLock<Result<Index>>,
}

struct Index {
    converter: RowConverter,
    /// Rows of `keys`, by the bytes of the value.
    rows: HashMap<Box<[u8]>, Vec<u32>>,
    keys: ArrayRef,
}

impl Inverse {
    /// NULL equals nothing.
    fn keys(&self, values: &ArrayRef) -> Result<ArrayRef> {
        let index = self.index.get_or_init(|| self.read()).as_ref().map_err(Error::clone)?;
        let nulls = values.logical_nulls();
        let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let values =
            index.converter.convert_columns(std::slice::from_ref(values)).map_err(Error::of_arrow)?;
        let rows_of = |value: &[u8]| index.rows.get(value).map_or(&[][..], Vec::as_slice);
        let found: Vec<&[u32]> = values
            .iter()
            .enumerate()
            .map(|(row, value)| if is_null(row) { &[][..] } else { rows_of(value.as_ref()) })
            .collect();
        let offsets = OffsetBuffer::from_lengths(found.iter().map(|rows| rows.len()));
        let rows = UInt32Array::from_iter_values(found.into_iter().flatten().copied());
        let keys = take(&index.keys, &rows, None).map_err(Error::of_arrow)?;
        let lists = ListArray::try_new(self.element.element_field(), offsets, keys, None);
        Ok(Arc::new(lists.map_err(Error::logical)?))
    }

    fn read(&self) -> Result<Index> {
        let carrier = self.dictionary.attributes()[self.attribute].ty.carrier();
        let converter = RowConverter::new(vec![SortField::new(carrier)]).map_err(Error::of_arrow)?;
        let key_count = self.dictionary.key_types().len();
        let mut rows = HashMap::<Box<[u8]>, Vec<u32>>::new();
        let mut keys: Vec<ArrayRef> = vec![new_empty_array(&self.element.carrier())];
        let mut next = 0_u32;
        let columns: Vec<usize> = (0..key_count).chain([key_count + self.attribute]).collect();
        self.dictionary.visit_columns(&columns, &mut |_, block| {
            let (key_columns, values) = block.split_at(key_count);
            for value in &converter.convert_columns(values).map_err(Error::of_arrow)? {
                rows.entry(Box::from(value.as_ref())).or_default().push(next);
                next = next.checked_add(1).ok_or_else(|| Error::logical("more keys than can be numbered"))?;
            }
            keys.push(self.element_array(key_columns)?);
            Ok(())
        })?;
        let keys: Vec<&dyn Array> = keys.iter().map(AsRef::as_ref).collect();
        Ok(Index { converter, rows, keys: concat(&keys).map_err(Error::of_arrow)? })
    }

    fn element_array(&self, keys: &[ArrayRef]) -> Result<ArrayRef> {
        match keys {
            [key] => Ok(Arc::clone(key)),
            keys => {
                let tuple = StructArray::try_new(self.element.struct_fields(), keys.to_vec(), None);
                Ok(Arc::new(tuple.map_err(Error::logical)?))
            }
        }
    }
}
