//! The value of the partition key that all rows of a part share, and the partition's identifier.
//!
//! The identifier is ClickHouse's: integers as digits, a `Date` as `YYYYMMDD`, the elements of a tuple joined by
//! `-`. If an element has another type or is NULL, it is a SipHash-128 of the values, in hex.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt16Type, UInt64Type};
use basalt_base::SqlType;
use basalt_base::civil::civil_from_days;
use basalt_base::siphash::sip_hash128;
use basalt_base::types::Wide;

use super::row_format::encode;
use crate::error::Result;
use crate::name::WHOLE_TABLE;

/// ClickHouse's tags of hashed values.
const TAG_NULL: u8 = 0;
const TAG_UNSIGNED: u8 = 1;
const TAG_SIGNED: u8 = 2;
const TAG_FLOAT: u8 = 3;
const TAG_STRING: u8 = 16;
/// The tag of all other types, whose bytes are Arrow's row format.
const TAG_OTHER: u8 = 255;

/// The value of a partition key: for each element its type and an array of one row. Without PARTITION BY it has no
/// elements.
#[derive(Clone, Debug, Default)]
pub struct PartitionValue {
    pub elements: Vec<(SqlType, ArrayRef)>,
}

impl PartitionValue {
    /// The identifier in the names of the partition's parts.
    pub fn id(&self) -> Result<String> {
        if self.elements.is_empty() {
            return Ok(WHOLE_TABLE.to_owned());
        }
        let digits: Option<Vec<String>> = self.elements.iter().map(|(ty, value)| digits(ty, value)).collect();
        match digits {
            Some(digits) => Ok(digits.join("-")),
            None => self.hash(),
        }
    }

    fn hash(&self) -> Result<String> {
        let mut bytes = Vec::new();
        for (ty, value) in &self.elements {
            hashed(ty, value, &mut bytes)?;
        }
        Ok(hex::encode(sip_hash128(&bytes)))
    }
}

impl PartialEq for PartitionValue {
    fn eq(&self, other: &PartitionValue) -> bool {
        let same = |((ty, value), (other_ty, other)): (&(SqlType, ArrayRef), &(SqlType, ArrayRef))| {
            ty == other_ty && value.as_ref() == other.as_ref()
        };
        self.elements.len() == other.elements.len() && self.elements.iter().zip(&other.elements).all(same)
    }
}

impl Eq for PartitionValue {}

/// The digits of an integer or a date; `None` for any other value.
fn digits(ty: &SqlType, value: &ArrayRef) -> Option<String> {
    if value.is_null(0) {
        return None;
    }
    match ty.stripped() {
        SqlType::Date => {
            let days = value.as_primitive_opt::<UInt16Type>()?.value(0);
            let (year, month, day) = civil_from_days(i32::from(days));
            Some(format!("{year:04}{month:02}{day:02}"))
        }
        SqlType::DateTime64 { .. } | SqlType::Decimal { .. } | SqlType::Ipv4 => None,
        _ => unsigned(value).map(|number| number.to_string()).or_else(|| Some(signed(value)?.to_string())),
    }
}

fn unsigned(value: &ArrayRef) -> Option<u64> {
    use DataType::{Boolean, UInt8, UInt16, UInt32, UInt64};
    matches!(value.data_type(), Boolean | UInt8 | UInt16 | UInt32 | UInt64).then_some(())?;
    Some(cast(value, &UInt64).ok()?.as_primitive::<UInt64Type>().value(0))
}

fn signed(value: &ArrayRef) -> Option<i64> {
    use DataType::{Int8, Int16, Int32, Int64};
    matches!(value.data_type(), Int8 | Int16 | Int32 | Int64).then_some(())?;
    Some(cast(value, &Int64).ok()?.as_primitive::<Int64Type>().value(0))
}

fn tag_of(wide: Wide) -> u8 {
    match wide {
        Wide::UInt128 => 4,
        Wide::Int128 => 5,
        Wide::UInt256 => 24,
        Wide::Int256 => 25,
    }
}

/// Appends the bytes of a value that are hashed.
fn hashed(ty: &SqlType, value: &ArrayRef, out: &mut Vec<u8>) -> Result<()> {
    let mut tagged = |tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend_from_slice(bytes);
    };
    if value.is_null(0) {
        tagged(TAG_NULL, &[]);
    } else if let Some(strings) = value.as_binary_view_opt() {
        let bytes = strings.value(0);
        tagged(TAG_STRING, &(bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(bytes);
    } else if let Some(number) = unsigned(value) {
        tagged(TAG_UNSIGNED, &number.to_le_bytes());
    } else if let Some(number) = signed(value) {
        tagged(TAG_SIGNED, &number.to_le_bytes());
    } else if let (Some(wide), Some(bytes)) = (ty.stripped().wide(), value.as_fixed_size_binary_opt()) {
        tagged(tag_of(wide), &wide.to_memory(bytes.value(0)));
    } else if let Some(number) = value.as_primitive_opt::<Float64Type>() {
        tagged(TAG_FLOAT, &number.value(0).to_le_bytes());
    } else {
        tagged(TAG_OTHER, ty.to_string().as_bytes());
        out.extend_from_slice(encode(value)?.row(0).data());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BinaryViewArray, Float64Array, Int32Array, UInt16Array, UInt32Array, UInt64Array};

    use super::*;

    fn check(elements: Vec<(SqlType, ArrayRef)>, expected: &str) {
        assert_eq!(PartitionValue { elements }.id().unwrap(), expected);
    }

    /// ClickHouse's identifiers for the same values.
    #[test]
    fn identifiers_are_those_of_clickhouse() {
        let text = |text: &str| -> ArrayRef { Arc::new(BinaryViewArray::from_iter_values([text])) };
        let date: ArrayRef = Arc::new(UInt16Array::from(vec![19724]));
        let number: ArrayRef = Arc::new(Int32Array::from(vec![-5]));
        let time: ArrayRef = Arc::new(UInt32Array::from(vec![1_700_000_000]));
        let month: ArrayRef = Arc::new(UInt32Array::from(vec![202_311]));
        check(vec![], "all");
        check(vec![(SqlType::Date, Arc::clone(&date))], "20240102");
        check(
            vec![
                (SqlType::Date, date),
                (SqlType::Int32, Arc::clone(&number)),
                (SqlType::DateTime(None), time),
            ],
            "20240102--5-1700000000",
        );
        check(vec![(SqlType::String, text("abc"))], "f815b3f19bae3563399d3c6214a8ed43");
        check(
            vec![(SqlType::String, text("abc")), (SqlType::Int32, number)],
            "944d44ffe81083aed1919c0a5878b68a",
        );
        check(
            vec![(SqlType::String, text("q")), (SqlType::UInt32, month)],
            "572f1ca3f7912333dbe3ae57ee2e4ea9",
        );
        check(
            vec![(SqlType::Float64, Arc::new(Float64Array::from(vec![1.5])))],
            "11876ff8640afac37203e8651c527cea",
        );
        let null: ArrayRef = Arc::new(UInt64Array::from(vec![None]));
        check(vec![(SqlType::UInt64.into_nullable(), null)], "2b16b490a87466b6a6d34fd9027f3c3d");
    }
}
