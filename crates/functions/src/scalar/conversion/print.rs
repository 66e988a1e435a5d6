//! Conversions to text: `toString` and `CAST(x AS String)`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use basalt_base::{Result, SqlType};
use basalt_formats::text::{Style, TextSettings, ValueWriter};

use super::step::Step;
use crate::FunctionContext;
use crate::scalar::operand::{build_strings, slice_strings};

/// The settings of text that depend on the session.
pub(super) fn text_settings(context: &FunctionContext) -> TextSettings {
    TextSettings { zone: context.zone, null_as_default: false, ..TextSettings::default() }
}

pub(super) fn to_string(from: &SqlType, context: &FunctionContext) -> Step {
    if let SqlType::FixedString(_) = from {
        return Box::new(without_padding);
    }
    let (from, settings) = (from.clone(), text_settings(context));
    Box::new(move |array| {
        let writer = ValueWriter::new(&from, array, &settings)?;
        let text = build_strings(array.len(), |row, out| {
            writer.write(row, Style::Raw, out);
            Ok(())
        })?;
        Ok(Arc::new(text))
    })
}

/// Trailing zero bytes of a FixedString are padding.
fn without_padding(array: &ArrayRef) -> Result<ArrayRef> {
    let padded = array.as_fixed_size_binary();
    Ok(Arc::new(slice_strings(array.len(), |row| {
        let bytes = padded.value(row);
        let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        Ok(&bytes[..end])
    })?))
}
