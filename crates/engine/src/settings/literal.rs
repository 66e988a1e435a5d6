//! Values of settings in SQL.

use basalt_sql::ast::Literal;

/// The text of a literal as a setting takes it.
pub(crate) fn literal_text(literal: &Literal) -> String {
    match literal {
        Literal::Null => String::new(),
        Literal::Bool(value) => u8::from(*value).to_string(),
        Literal::UInt(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Number(text) => text.clone(),
        Literal::String(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}
