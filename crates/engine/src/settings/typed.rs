//! The value of a setting as SQL sees it: what `getSetting` answers.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Float64Array, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use basalt_base::{Result, SqlType};
use basalt_functions::SettingValues;

use super::Settings;
use super::suspicious_type::check_suspicious_type;

impl SettingValues for Settings {
    fn value(&self, name: &str) -> Result<(SqlType, ArrayRef)> {
        let text = self.get(name)?;
        let line = self.lines().into_iter().find(|line| line.name == name);
        let number = || text.parse::<f64>().unwrap_or_default();
        Ok(match line.map_or("String", |line| line.type_name) {
            "Bool" => (SqlType::Bool, Arc::new(BooleanArray::from(vec![text == "1"]))),
            "Float" => (SqlType::Float64, Arc::new(Float64Array::from(vec![number()]))),
            "UInt64" => narrow(text.parse().unwrap_or_default()),
            _ => (SqlType::String, Arc::new(BinaryViewArray::from_iter_values([&text]))),
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

    fn decimal_check_overflow(&self) -> bool {
        self.decimal_check_overflow
    }
}

/// The number in the type that a literal of it would have.
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
