//! Membership in a set that is known before the query runs: the right side of `IN`.
//!
//! [`InSet`] is a DataFusion function of one or several columns that owns its set. A table engine that finds a call
//! among its filters can take the keys from [`InSet::values`].
//!
//! NULL is in no set: the result is always true or false.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray};
use arrow::buffer::ScalarBuffer;
use arrow::compute::{cast, filter};
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type, UInt64Type};
use arrow::row::{RowConverter, SortField};
use basalt_base::array_bytes::taken_bytes;
use basalt_base::query::{check_allocation, checkpoint};
use basalt_base::{Error, Result, bail};
use datafusion::common::DataFusionError;
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hashbrown::{DefaultHashBuilder, HashSet, HashTable};

/// `in(a, b, ...)`: whether the set contains the row of arguments.
pub struct InSet {
    columns: Vec<ArrayRef>,
    keys: Keys,
    signature: Signature,
}

/// The set in the form that lookups use.
enum Keys {
    /// One integer column; negative numbers as their two's complement.
    Words(HashSet<u64>),
    /// One column of bytes: the distinct rows of `values`.
    Bytes { values: BinaryViewArray, rows: HashTable<u32>, hasher: DefaultHashBuilder },
    /// Anything else, by its row encoding.
    Rows { converter: RowConverter, rows: HashSet<Box<[u8]>> },
}

impl InSet {
    /// The set of the rows of `columns`, which have equal lengths. Skips rows with a NULL.
    pub fn new(columns: Vec<ArrayRef>) -> Result<InSet> {
        let columns = without_nulls(columns)?;
        let keys = Keys::build(&columns)?;
        Ok(InSet { columns, keys, signature: Signature::variadic_any(Volatility::Immutable) })
    }

    /// The set as a function that an expression can call.
    pub fn into_function(self) -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::new_from_impl(self))
    }

    /// The set inside a function, if it is one.
    pub fn of(function: &ScalarUDF) -> Option<&InSet> {
        function.inner().downcast_ref::<InSet>()
    }

    /// The members of a set of single values, without NULL, possibly with duplicates. For a set of tuples, their
    /// first elements.
    pub fn values(&self) -> &ArrayRef {
        &self.columns[0]
    }

    /// One array per tuple element.
    pub fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    /// The number of distinct members.
    pub fn count(&self) -> usize {
        match &self.keys {
            Keys::Words(words) => words.len(),
            Keys::Bytes { rows, .. } => rows.len(),
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
    columns.iter().map(|column| filter(column, &complete).map_err(Error::of_arrow)).collect()
}

impl Keys {
    fn build(columns: &[ArrayRef]) -> Result<Keys> {
        if let [column] = columns {
            if let Some(words) = words_of(column)? {
                return set_of_words(&words);
            }
            if let Some(values) = column.as_binary_view_opt() {
                return set_of_bytes(values);
            }
        }
        check_allocation(taken_bytes(columns[0].as_ref(), 0..columns[0].len()))?;
        let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
        let converter = RowConverter::new(fields).map_err(Error::of_arrow)?;
        let rows = converter.convert_columns(columns).map_err(Error::of_arrow)?;
        let mut set: HashSet<Box<[u8]>> = HashSet::new();
        for (at, row) in rows.iter().enumerate() {
            check_at(at)?;
            set.insert(Box::from(row.as_ref()));
        }
        Ok(Keys::Rows { converter, rows: set })
    }

    fn contains(&self, columns: &[ArrayRef]) -> Result<BooleanArray> {
        match self {
            Keys::Words(set) => {
                let words = words_of(&columns[0])?.ok_or_else(|| Error::logical("a set of integers"))?;
                Ok(probe(&columns[0], words.iter().map(|word| set.contains(word))))
            }
            Keys::Bytes { values, rows, hasher } => {
                let probed =
                    columns[0].as_binary_view_opt().ok_or_else(|| Error::logical("a set of strings"))?;
                let is_member = |value: &[u8]| {
                    rows.find(hasher.hash_one(value), |&row| values.value(row as usize) == value).is_some()
                };
                Ok(probed.iter().map(|value| Some(value.is_some_and(is_member))).collect())
            }
            Keys::Rows { converter, rows: set } => {
                let rows = converter.convert_columns(columns).map_err(Error::of_arrow)?;
                // The set has no NULL, so that a row with NULL equals no member.
                Ok(rows.iter().map(|row| Some(set.contains(row.as_ref()))).collect())
            }
        }
    }
}

/// Rows that are added to a set between two checks for cancellation.
const ROWS_UNCHECKED: usize = 1 << 14;

fn check_at(row: usize) -> Result<()> {
    if row.is_multiple_of(ROWS_UNCHECKED) { checkpoint() } else { Ok(()) }
}

/// The bytes of a hash table with `count` elements: a power of two of slots, at most 7/8 full.
fn table_bytes(count: usize, element: usize) -> u64 {
    (count.saturating_mul(8) / 7 + 1).next_power_of_two() as u64 * (element as u64 + 1)
}

fn set_of_words(words: &[u64]) -> Result<Keys> {
    check_allocation(table_bytes(words.len(), size_of::<u64>()))?;
    let mut set = HashSet::with_capacity(words.len());
    for chunk in words.chunks(ROWS_UNCHECKED) {
        checkpoint()?;
        set.extend(chunk);
    }
    Ok(Keys::Words(set))
}

fn set_of_bytes(values: &BinaryViewArray) -> Result<Keys> {
    if u32::try_from(values.len()).is_err() {
        bail!(SetSizeLimitExceeded, "a set of {} strings is too large", values.len());
    }
    check_allocation(table_bytes(values.len(), size_of::<u32>()))?;
    let hasher = DefaultHashBuilder::default();
    let mut rows = HashTable::with_capacity(values.len());
    for (row, value) in values.iter().enumerate() {
        check_at(row)?;
        let Some(value) = value else { continue };
        let is_same = |&known: &u32| values.value(known as usize) == value;
        let hash = |&known: &u32| hasher.hash_one(values.value(known as usize));
        rows.entry(hasher.hash_one(value), is_same, hash).or_insert(row as u32);
    }
    Ok(Keys::Bytes { values: values.clone(), rows, hasher })
}

fn probe(column: &ArrayRef, found: impl Iterator<Item = bool>) -> BooleanArray {
    if column.null_count() == 0 {
        return found.map(Some).collect();
    }
    found.enumerate().map(|(row, found)| Some(found && !column.is_null(row))).collect()
}

/// The values of an integer column, with arbitrary values for NULL; `None` for other types.
fn words_of(column: &ArrayRef) -> Result<Option<ScalarBuffer<u64>>> {
    Ok(match column.data_type() {
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
            let wide = cast(column, &DataType::UInt64).map_err(Error::of_arrow)?;
            Some(wide.as_primitive::<UInt64Type>().values().clone())
        }
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
            let wide = cast(column, &DataType::Int64).map_err(Error::of_arrow)?;
            Some(ScalarBuffer::from(wide.as_primitive::<Int64Type>().values().inner().clone()))
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

    fn evaluate_bounds(&self, _inputs: &[&Interval]) -> datafusion::common::Result<Interval> {
        Interval::make_unbounded(&DataType::Boolean)
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
    use arrow::array::{Float64Array, Int16Array, UInt64Array};

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
