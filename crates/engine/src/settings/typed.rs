//! The value of a setting as SQL sees it: what `getSetting` answers.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use basalt_base::{Result, SqlType};
use basalt_functions::SettingValues;

use super::Settings;
use super::suspicious_type::check_suspicious_type;

impl SettingValues for Settings {
    fn value(&self, name: &str) -> Result<(SqlType, ArrayRef)> {
        let line = self.line(name)?;
        let text = line.value;
        let string = || Arc::new(BinaryViewArray::from_iter_values([&text]));
        Ok(match line.type_name {
            "Bool" | "BoolAuto" if text != "auto" => {
                (SqlType::Bool, Arc::new(BooleanArray::from(vec![text == "1"])))
            }
            "Float" | "Double" | "FloatAuto" | "Seconds" if text != "auto" => (
                SqlType::Float64,
                Arc::new(Float64Array::from(vec![text.parse::<f64>().unwrap_or_default()])),
            ),
            "MaxThreads" => narrow(self.threads_max() as u64),
            "UInt64" | "UInt64Auto" | "NonZeroUInt64" | "Milliseconds" if text != "auto" => {
                narrow(text.parse().unwrap_or_default())
            }
            "Int64" | "Int32" => narrow_signed(text.parse().unwrap_or_default()),
            _ => (SqlType::String, string()),
        })
    }

    fn threads_max(&self) -> usize {
        match self.max_threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.min(1024) as usize,
        }
    }

    fn check_type(&self, ty: &SqlType) -> Result<()> {
        check_suspicious_type(ty, self)
    }

    fn cast_keep_nullable(&self) -> bool {
        self.cast_keep_nullable
    }

    fn decimal_check_overflow(&self) -> bool {
        self.decimal_check_overflow
    }
}

/// The number in the type that a literal of it would have.
fn narrow_signed(value: i64) -> (SqlType, ArrayRef) {
    if let Ok(value) = u64::try_from(value) {
        return narrow(value);
    }
    if let Ok(value) = i8::try_from(value) {
        return (SqlType::Int8, Arc::new(Int8Array::from(vec![value])));
    }
    if let Ok(value) = i16::try_from(value) {
        return (SqlType::Int16, Arc::new(Int16Array::from(vec![value])));
    }
    match i32::try_from(value) {
        Ok(value) => (SqlType::Int32, Arc::new(Int32Array::from(vec![value]))),
        Err(_) => (SqlType::Int64, Arc::new(Int64Array::from(vec![value]))),
    }
}

/// As [`narrow_signed`], of a number without a sign.
fn narrow(value: u64) -> (SqlType, ArrayRef) {
    if let Ok(value) = u8::try_from(value) {
        return (SqlType::UInt8, Arc::new(UInt8Array::from(vec![value])));
    }
    if let Ok(value) = u16::try_from(value) {
        return (SqlType::UInt16, Arc::new(UInt16Array::from(vec![value])));
    }
    match u32::try_from(value) {
        Ok(value) => (SqlType::UInt32, Arc::new(UInt32Array::from(vec![value]))),
        Err(_) => (SqlType::UInt64, Arc::new(UInt64Array::from(vec![value]))),
    }
}
