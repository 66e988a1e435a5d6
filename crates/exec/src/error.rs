//! DataFusion's errors as ours: the code that a function or a table gave survives the way through a plan.

use basalt_base::{Error, ErrorCode};
use datafusion::arrow::error::ArrowError;
use datafusion::common::DataFusionError;

/// Finds the [`Error`] that lies at the bottom of `error`, or makes one with the nearest code.
pub fn from_datafusion(error: DataFusionError) -> Error {
    ours_in(&error).unwrap_or_else(|| foreign(error.find_root()))
}

/// Our error as one that travels through DataFusion.
pub fn into_datafusion(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn ours_in(error: &DataFusionError) -> Option<Error> {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = source {
        if let Some(ours) = current.downcast_ref::<Error>() {
            return Some(ours.clone());
        }
        let found = match current.downcast_ref::<DataFusionError>() {
            Some(DataFusionError::External(inner)) => in_box(inner.as_ref()),
            Some(DataFusionError::Shared(inner)) => ours_in(inner),
            Some(DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner)) => {
                ours_in(inner)
            }
            Some(DataFusionError::Collection(errors)) => errors.iter().find_map(ours_in),
            Some(DataFusionError::ArrowError(inner, _)) => in_arrow(inner),
            _ => current.downcast_ref::<ArrowError>().and_then(in_arrow),
        };
        if found.is_some() {
            return found;
        }
        source = current.source();
    }
    None
}

fn in_box(inner: &(dyn std::error::Error + Send + Sync + 'static)) -> Option<Error> {
    if let Some(ours) = inner.downcast_ref::<Error>() {
        return Some(ours.clone());
    }
    inner.downcast_ref::<DataFusionError>().and_then(ours_in)
}

fn in_arrow(error: &ArrowError) -> Option<Error> {
    match error {
        ArrowError::ExternalError(inner) => in_box(inner.as_ref()),
        _ => None,
    }
}

/// The code for an error that DataFusion or Arrow made themselves.
fn foreign(error: &DataFusionError) -> Error {
    let code = match error {
        DataFusionError::ResourcesExhausted(_) => ErrorCode::MemoryLimitExceeded,
        DataFusionError::NotImplemented(_) => ErrorCode::NotImplemented,
        DataFusionError::IoError(_) => ErrorCode::CannotReadFromFile,
        DataFusionError::Execution(_) => ErrorCode::BadArguments,
        DataFusionError::ArrowError(inner, _) => match inner.as_ref() {
            ArrowError::DivideByZero => ErrorCode::IllegalDivision,
            ArrowError::ArithmeticOverflow(_) => ErrorCode::ValueIsOutOfRange,
            ArrowError::IoError(..) => ErrorCode::CannotReadFromFile,
            _ => ErrorCode::LogicalError,
        },
        _ => ErrorCode::LogicalError,
    };
    Error::new(code, error.strip_backtrace())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn check(error: DataFusionError, expected: ErrorCode) {
        assert_eq!(from_datafusion(error).code(), expected);
    }

    #[test]
    fn our_error_survives_every_wrapping() {
        let ours = || into_datafusion(Error::new(ErrorCode::UnknownTable, "no such table"));
        check(ours(), ErrorCode::UnknownTable);
        check(ours().context("while planning"), ErrorCode::UnknownTable);
        check(DataFusionError::Shared(Arc::new(ours())), ErrorCode::UnknownTable);
        check(DataFusionError::External(Box::new(ours())), ErrorCode::UnknownTable);
        let arrow = ArrowError::ExternalError(Box::new(ours()));
        check(DataFusionError::ArrowError(Box::new(arrow), None), ErrorCode::UnknownTable);
    }

    #[test]
    fn exhausted_memory_has_its_own_code() {
        check(DataFusionError::ResourcesExhausted("pool".into()), ErrorCode::MemoryLimitExceeded);
    }
}
