//! Parameters whose types are declared by name.

use super::parameter::{ParameterValue, PostgresParameter};
use crate::ParseError;

impl PostgresParameter {
    /// A parameter of the type that ClickHouse calls `ty`, if that is known.
    pub fn new(ty: Option<&str>, value: ParameterValue) -> Result<PostgresParameter, ParseError> {
        let ty = ty.map(|name| crate::parse_type(name.as_bytes())).transpose()?;
        Ok(PostgresParameter { ty, value })
    }
}
