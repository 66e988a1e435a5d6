//! Maps Arrow's errors to ours. The match is exhaustive, so that a new kind of error does not compile.

use arrow::error::ArrowError;

use super::{Error, ErrorCode};

impl Error {
    /// The error of a computation over columns; our own error if it carries one.
    pub fn of_arrow(error: ArrowError) -> Error {
        let refused = |code, text: &str| Error::new(code, text.to_owned());
        match error {
            ArrowError::ExternalError(inner) => match inner.downcast::<Error>() {
                Ok(ours) => *ours,
                Err(other) => Error::logical(other),
            },
            ArrowError::NotYetImplemented(what) => {
                Error::new(ErrorCode::NotImplemented, format!("{what} is not implemented"))
            }
            ArrowError::CastError(text) => Error::new(ErrorCode::CannotConvertType, text),
            ArrowError::ParseError(text) | ArrowError::CsvError(text) | ArrowError::JsonError(text) => {
                Error::new(ErrorCode::CannotParseText, text)
            }
            ArrowError::MemoryError(text) => Error::new(ErrorCode::MemoryLimitExceeded, text),
            ArrowError::DivideByZero => refused(ErrorCode::IllegalDivision, "division by zero"),
            ArrowError::ArithmeticOverflow(text) => Error::new(ErrorCode::ValueIsOutOfRange, text),
            ArrowError::OffsetOverflowError(_) | ArrowError::RunEndIndexOverflowError => refused(
                ErrorCode::TooLargeArraySize,
                "the arrays of a block have more than 2147483647 elements",
            ),
            ArrowError::DictionaryKeyOverflowError => {
                refused(ErrorCode::TooLargeArraySize, "the dictionary of a LowCardinality column is full")
            }
            ArrowError::IoError(text, _) => Error::new(ErrorCode::CannotReadFromFile, text),
            ArrowError::ComputeError(text)
            | ArrowError::InvalidArgumentError(text)
            | ArrowError::SchemaError(text)
            | ArrowError::IpcError(text)
            | ArrowError::AvroError(text)
            | ArrowError::ParquetError(text)
            | ArrowError::CDataInterface(text) => Error::logical(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: ArrowError, expected: ErrorCode) {
        assert_eq!(Error::of_arrow(error).code(), expected);
    }

    #[test]
    fn every_kind_has_a_number() {
        check(ArrowError::DivideByZero, ErrorCode::IllegalDivision);
        check(ArrowError::OffsetOverflowError(3), ErrorCode::TooLargeArraySize);
        check(ArrowError::CastError("no".into()), ErrorCode::CannotConvertType);
        let ours = Error::new(ErrorCode::UnknownTable, "no such table");
        check(ArrowError::ExternalError(Box::new(ours)), ErrorCode::UnknownTable);
    }
}
