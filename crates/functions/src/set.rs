//! Membership in a set that is known before the query runs: the right side of `IN`.
//!
//! [`InSet`] is a DataFusion function of one or several columns; its set lives in it, so that a table
//! engine that sees a call among its filters can take the keys from [`InSet::values`].
//!
//! A NULL is in no set: the answer is always true or false.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::{cast, filter};
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type, UInt64Type};
use arrow::row::{RowConverter, SortField};
use basalt_base::{Error, Result};
use datafusion::common::DataFusionError;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hashbrown::HashSet;

/// `in(a, b, ...)`: whether the row of the arguments is one of the rows of the set.
pub struct InSet {
    columns: Vec<ArrayRef>,
    keys: Keys,
    signature: Signature,
}

/// The set in the form in which it is probed.
enum Keys {
    /// One integer column; negative numbers as their two's complement.
    Words(HashSet<u64>),
    /// One column of bytes.
    Bytes(HashSet<Box<[u8]>>),
    /// Anything else, by its row encoding.
    Rows { converter: RowConverter, rows: HashSet<Box<[u8]>> },
}

impl InSet {
    /// The set of the rows of `columns`, which have the same length; rows with a NULL are left out.
    pub fn new(columns: Vec<ArrayRef>) -> Result<InSet> {
        let columns = without_nulls(columns)?;
        let keys = Keys::build(&columns)?;
        Ok(InSet { columns, keys, signature: Signature::variadic_any(Volatility::Immutable) })
    }

    /// The set as a function that an expression can call.
    pub fn into_function(self) -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::new_from_impl(self))
    }

    /// The set behind a function, if it is one.
    pub fn of(function: &ScalarUDF) -> Option<&InSet> {
        function.inner().downcast_ref::<InSet>()
    }

    /// The members of a set of single values, duplicates possible, without NULL; for a set of tuples,
    /// their first elements.
    pub fn values(&self) -> &ArrayRef {
        &self.columns[0]
    }

    /// One array for each element of the tuple.
    pub fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    /// How many different members there are.
    pub fn count(&self) -> usize {
        match &self.keys {
            Keys::Words(words) => words.len(),
            Keys::Bytes(bytes) => bytes.len(),
            Keys::Rows { rows, .. } => rows.len(),
        }
    }
}

fn without_nulls(columns: Vec<ArrayRef>) -> Result<Vec<ArrayRef>> {
    if columns.is_empty() {
        return Err(Error::logical("a set without columns"));
    }
    if columns.iter().all(|column| column.logical_null_count() == 0) {
        return Ok(columns);
    }
    let complete: BooleanArray =
        (0..columns[0].len()).map(|row| Some(columns.iter().all(|column| !column.is_null(row)))).collect();
    columns.iter().map(|column| filter(column, &complete).map_err(Error::logical)).collect()
}

impl Keys {
    fn build(columns: &[ArrayRef]) -> Result<Keys> {
        if let [column] = columns {
            if let Some(words) = words_of(column)? {
                return Ok(Keys::Words(words.into_iter().collect()));
            }
            if let Some(values) = column.as_binary_view_opt() {
                return Ok(Keys::Bytes(values.iter().flatten().map(Box::from).collect()));
            }
        }
        let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
        let converter = RowConverter::new(fields).map_err(Error::logical)?;
        let rows = converter.convert_columns(columns).map_err(Error::logical)?;
        let rows = rows.iter().map(|row| Box::from(row.as_ref())).collect();
        Ok(Keys::Rows { converter, rows })
    }

    fn contains(&self, columns: &[ArrayRef]) -> Result<BooleanArray> {
        match self {
            Keys::Words(set) => {
                let words = words_of(&columns[0])?.ok_or_else(|| Error::logical("a set of integers"))?;
                Ok(probe(&columns[0], words.iter().map(|word| set.contains(word))))
            }
            Keys::Bytes(set) => {
                let values =
                    columns[0].as_binary_view_opt().ok_or_else(|| Error::logical("a set of strings"))?;
                Ok(values.iter().map(|value| Some(value.is_some_and(|value| set.contains(value)))).collect())
            }
            Keys::Rows { converter, rows: set } => {
                let rows = converter.convert_columns(columns).map_err(Error::logical)?;
                // The set has no NULL, so that no row with one is equal to a member.
                Ok(rows.iter().map(|row| Some(set.contains(row.as_ref()))).collect())
            }
        }
    }
}

fn probe(column: &ArrayRef, found: impl Iterator<Item = bool>) -> BooleanArray {
    if column.null_count() == 0 {
        return found.map(Some).collect();
    }
    found.enumerate().map(|(row, found)| Some(found && !column.is_null(row))).collect()
}

/// The values of an integer column, whatever lies under a NULL included; `None` for other types.
fn words_of(column: &ArrayRef) -> Result<Option<Vec<u64>>> {
    Ok(match column.data_type() {
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
            let wide = cast(column, &DataType::UInt64).map_err(Error::logical)?;
            Some(wide.as_primitive::<UInt64Type>().values().to_vec())
        }
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
            let wide = cast(column, &DataType::Int64).map_err(Error::logical)?;
            Some(wide.as_primitive::<Int64Type>().values().iter().map(|&word| word as u64).collect())
        }
        _ => None,
    })
}

impl ScalarUDFImpl for InSet {
    fn name(&self) -> &str {
        "in"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> datafusion::common::Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs) -> datafusion::common::Result<FieldRef> {
        Ok(Arc::new(Field::new("in", DataType::Boolean, false)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> datafusion::common::Result<ColumnarValue> {
        let rows = args.number_rows;
        let columns = args
            .args
            .into_iter()
            .map(|value| value.into_array(rows))
            .collect::<datafusion::common::Result<Vec<_>>>()?;
        if columns.len() != self.columns.len() {
            return Err(DataFusionError::Internal("a tuple as wide as the set's".into()));
        }
        let found =
            self.keys.contains(&columns).map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(ColumnarValue::Array(Arc::new(found)))
    }
}

impl PartialEq for InSet {
    fn eq(&self, other: &InSet) -> bool {
        self.columns.len() == other.columns.len()
            && self.columns.iter().zip(&other.columns).all(|(left, right)| Arc::ptr_eq(left, right))
    }
}

impl Eq for InSet {}

impl Hash for InSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for column in &self.columns {
            Arc::as_ptr(column).cast::<()>().hash(state);
        }
    }
}

impl fmt::Debug for InSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InSet({} members)", self.count())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryViewArray, Float64Array, Int16Array, UInt64Array};

    use super::*;

    fn check(set: Vec<ArrayRef>, probed: Vec<ArrayRef>, expected: &[bool]) {
        let set = InSet::new(set).unwrap();
        let found = set.keys.contains(&probed).unwrap();
        assert_eq!(found, BooleanArray::from(expected.to_vec()));
    }

    #[test]
    fn finds_members_of_every_kind_of_set() {
        check(
            vec![Arc::new(UInt64Array::from(vec![1, u64::MAX]))],
            vec![Arc::new(UInt64Array::from(vec![u64::MAX, 2]))],
            &[true, false],
        );
        check(
            vec![Arc::new(Int16Array::from(vec![-1, 3]))],
            vec![Arc::new(Int16Array::from(vec![Some(-1), None, Some(0)]))],
            &[true, false, false],
        );
        check(
            vec![Arc::new(BinaryViewArray::from_iter_values(["a", "a string beyond twelve bytes"]))],
            vec![Arc::new(BinaryViewArray::from_iter_values(["a string beyond twelve bytes", "b"]))],
            &[true, false],
        );
        check(
            vec![Arc::new(Float64Array::from(vec![0.5]))],
            vec![Arc::new(Float64Array::from(vec![0.5, 1.5]))],
            &[true, false],
        );
    }

    #[test]
    fn null_is_in_no_set() {
        check(
            vec![Arc::new(Int16Array::from(vec![Some(0), None]))],
            vec![Arc::new(Int16Array::from(vec![None, Some(0)]))],
            &[false, true],
        );
    }

    #[test]
    fn tuples_match_as_a_whole() {
        let pair = |left: Vec<u64>, right: Vec<&str>| -> Vec<ArrayRef> {
            vec![Arc::new(UInt64Array::from(left)), Arc::new(BinaryViewArray::from_iter_values(right))]
        };
        check(pair(vec![1, 2], vec!["a", "b"]), pair(vec![1, 1], vec!["a", "b"]), &[true, false]);
    }
}
