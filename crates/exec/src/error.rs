//! Converts DataFusion's errors to ours. The code of a function's or table's error is preserved through a plan.

use std::io::ErrorKind;

use basalt_base::{Error, ErrorCode};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{DataFusionError, SchemaError};

/// The [`Error`] at the root of `error`, or a new one with the nearest code.
pub fn from_datafusion(error: DataFusionError) -> Error {
    ours_in(&error).unwrap_or_else(|| foreign(error))
}

/// Wraps our error to pass through DataFusion.
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

/// An error of DataFusion or Arrow, in our words.
fn foreign(error: DataFusionError) -> Error {
    match error {
        DataFusionError::ArrowError(inner, _) => Error::of_arrow(*inner),
        DataFusionError::IoError(source) if source.kind() == ErrorKind::StorageFull => {
            Error::new(ErrorCode::NotEnoughSpace, "no space is left for the temporary data of the query")
        }
        DataFusionError::IoError(source) => Error::of_reading(source),
        DataFusionError::NotImplemented(what) => Error::new(ErrorCode::NotImplemented, plain(&what)),
        DataFusionError::Execution(text) | DataFusionError::Configuration(text) => {
            Error::new(ErrorCode::BadArguments, plain(&text))
        }
        DataFusionError::ResourcesExhausted(text) => out_of_memory(&text),
        DataFusionError::SchemaError(error, _) => of_names(*error),
        DataFusionError::Plan(text)
        | DataFusionError::Internal(text)
        | DataFusionError::Substrait(text)
        | DataFusionError::Ffi(text) => Error::logical(plain(&text)),
        DataFusionError::ObjectStore(error) => Error::new(ErrorCode::CannotReadFromFile, error.to_string()),
        DataFusionError::ExecutionJoin(ended) => {
            Error::logical(format!("a thread of the query ended early: {ended}"))
        }
        DataFusionError::External(inner) => match inner.downcast::<DataFusionError>() {
            Ok(inner) => foreign(*inner),
            Err(other) => Error::logical(other),
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => foreign(*inner),
        DataFusionError::Collection(errors) => match errors.into_iter().next() {
            Some(first) => foreign(first),
            None => Error::logical("several errors, but none of them is there"),
        },
        DataFusionError::Shared(inner) => shared(&inner),
    }
}

/// A shared error, whose root cannot be moved out.
fn shared(error: &DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::ArrowError(inner, _) => match inner.as_ref() {
            ArrowError::DivideByZero => Error::of_arrow(ArrowError::DivideByZero),
            ArrowError::OffsetOverflowError(offset) => {
                Error::of_arrow(ArrowError::OffsetOverflowError(*offset))
            }
            ArrowError::CastError(text) => Error::of_arrow(ArrowError::CastError(text.clone())),
            ArrowError::ArithmeticOverflow(text) => {
                Error::of_arrow(ArrowError::ArithmeticOverflow(text.clone()))
            }
            other => Error::logical(other),
        },
        DataFusionError::Execution(text) => foreign(DataFusionError::Execution(text.clone())),
        DataFusionError::NotImplemented(text) => foreign(DataFusionError::NotImplemented(text.clone())),
        DataFusionError::ResourcesExhausted(text) => {
            foreign(DataFusionError::ResourcesExhausted(text.clone()))
        }
        other => Error::logical(plain(&other.message())),
    }
}

/// Names that are ambiguous or unknown in a plan.
fn of_names(error: SchemaError) -> Error {
    match error {
        SchemaError::AmbiguousReference { field } => {
            Error::new(ErrorCode::AmbiguousIdentifier, format!("column `{}` is ambiguous", field.name))
        }
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => {
            Error::new(ErrorCode::AmbiguousColumnName, format!("two columns are called `{name}`"))
        }
        SchemaError::FieldNotFound { field, .. } => {
            Error::new(ErrorCode::UnknownIdentifier, format!("column `{}` not found", field.name))
        }
    }
}

/// The text without the parts for developers: backtrace, and where to report.
fn plain(text: &str) -> String {
    let text = text.split(DataFusionError::BACK_TRACE_SEP).next().unwrap_or(text);
    text.split("This issue was likely caused by")
        .next()
        .unwrap_or(text)
        .trim_end_matches(['.', '\n'])
        .to_owned()
}

/// An error of a query's memory pool, or of an operator that cannot spill.
fn out_of_memory(text: &str) -> Error {
    let is_ours = text.contains("memory limit exceeded");
    let what = if is_ours {
        plain(text)
    } else {
        "Query memory limit exceeded: no room is left to spill".to_owned()
    };
    Error::new(ErrorCode::MemoryLimitExceeded, what)
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
    fn a_foreign_error_says_nothing_of_its_origin() {
        let kinds: Vec<DataFusionError> = vec![
            DataFusionError::Plan("no".into()),
            DataFusionError::Execution("no".into()),
            DataFusionError::NotImplemented("no".into()),
            DataFusionError::Internal("no".into()),
            DataFusionError::ResourcesExhausted("no".into()),
            ArrowError::CastError("no".into()).into(),
        ];
        for kind in kinds {
            let text = Arc::new(DataFusionError::Shared(Arc::new(kind)));
            let text = from_datafusion(DataFusionError::Shared(text)).to_string();
            assert!(!text.contains("DataFusion") && !text.contains("rror during planning"), "{text}");
        }
    }

    #[test]
    fn exhausted_memory_has_its_own_code() {
        check(DataFusionError::ResourcesExhausted("pool".into()), ErrorCode::MemoryLimitExceeded);
    }
}
