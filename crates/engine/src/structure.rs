//! The columns that a text declares: `a UInt8, b String`.

use basalt_base::{Column, Columns, Error, Result, SqlType};

/// The columns of `text`. A column without a name gets `unnamed` and its number from 1.
pub(crate) fn columns_of(text: &str, unnamed: &str) -> Result<Columns> {
    let tuple = basalt_sql::resolve_type(&basalt_sql::parse_type(format!("Tuple({text})").as_bytes())?)?;
    let SqlType::Tuple(elements) = tuple else {
        return Err(Error::logical("a structure is no tuple"));
    };
    let columns = elements.iter().enumerate().map(|(index, element)| {
        let name = element.name.clone().unwrap_or_else(|| format!("{unnamed}{}", index + 1));
        Column::new(name, element.ty.clone())
    });
    Ok(columns.collect())
}
