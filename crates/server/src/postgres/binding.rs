//! The values of a statement's parameters.

use basalt_engine::postgres::{ParameterValue, PostgresParameter};
use basalt_engine::{Error, SqlType};
use basalt_wire::postgres::{Bind, Format, Parameter, read_parameter};

use super::failure::{Failure, Outcome, state};
use super::prepared::Prepared;

/// The parameters of a statement with the values of a message.
pub(super) fn bind(prepared: &Prepared, message: &Bind) -> Outcome<Vec<PostgresParameter>> {
    let (values, formats) = (&message.values, &message.formats);
    if formats.len() > 1 && formats.len() != values.len() {
        let what =
            format!("bind message has {} parameter formats but {} parameters", formats.len(), values.len());
        return Err(Failure::new(state::PROTOCOL_VIOLATION, what));
    }
    let oids = prepared.parameter_oids();
    if values.len() < oids.len() {
        let what = format!(
            "bind message supplies {} parameters, but the statement requires {}",
            values.len(),
            oids.len()
        );
        return Err(Failure::new(state::PROTOCOL_VIOLATION, what));
    }
    let mut parameters = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        let oid = oids.get(index).copied().unwrap_or(0);
        let format = Format::of(formats, index);
        let parameter = match value {
            None => null(prepared, index),
            Some(bytes) => value_of(prepared.inferred(index), read_parameter(oid, format, bytes)?)?,
        };
        parameters.push(parameter);
    }
    Ok(parameters)
}

fn null(prepared: &Prepared, index: usize) -> PostgresParameter {
    let ty = prepared.declared.get(index).and_then(|declared| declared.ty.clone());
    PostgresParameter { ty, value: ParameterValue::Null }
}

fn value_of(inferred: Option<&SqlType>, read: Parameter) -> Result<PostgresParameter, Error> {
    let ty = match inferred {
        Some(ty) => own_type(ty).or(read.ty),
        None => read.ty,
    };
    PostgresParameter::new(ty.as_deref(), ParameterValue::Text(read.text)).map_err(Error::from)
}

/// The type of a value for a place of type `ty`; `None` if the value tells more.
fn own_type(ty: &SqlType) -> Option<String> {
    match ty {
        SqlType::DateTime(zone) | SqlType::DateTime64 { zone, .. } => Some(match zone {
            Some(zone) => format!("DateTime64(6, '{zone}')"),
            None => "DateTime64(6)".to_owned(),
        }),
        SqlType::Decimal { .. } | SqlType::Array(_) | SqlType::Nothing | SqlType::Interval(_) => None,
        SqlType::FixedString(_) | SqlType::Enum8(_) | SqlType::Enum16(_) => Some("String".to_owned()),
        other => Some(other.to_string()),
    }
}
