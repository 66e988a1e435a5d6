//! Checks of the arguments and parameters of an aggregate function, and the errors they give.

use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::Parameter;

/// The one argument of an aggregate function that takes one.
pub(super) fn only_arg<'a>(name: &str, args: &'a [SqlType]) -> Result<&'a SqlType> {
    match args {
        [arg] => Ok(arg),
        _ => Err(wrong_arity(name, "one argument", args.len())),
    }
}

pub(super) fn two_args<'a>(name: &str, args: &'a [SqlType]) -> Result<(&'a SqlType, &'a SqlType)> {
    match args {
        [first, second] => Ok((first, second)),
        _ => Err(wrong_arity(name, "two arguments", args.len())),
    }
}

pub(super) fn wrong_arity(name: &str, expected: &str, given: usize) -> Error {
    Error::new(
        ErrorCode::NumberOfArgumentsDoesntMatch,
        format!("aggregate function `{name}` takes {expected}, got {given}"),
    )
}

pub(super) fn illegal_type(name: &str, ty: &SqlType) -> Error {
    Error::new(
        ErrorCode::IllegalTypeOfArgument,
        format!("aggregate function `{name}` does not take an argument of type {ty}"),
    )
}

/// Refuses `sum(1)(x)`.
pub(super) fn no_parameters(name: &str, parameters: &[Parameter]) -> Result<()> {
    if parameters.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::AggregateFunctionDoesntAllowParameters,
        format!("aggregate function `{name}` takes no parameters"),
    ))
}
