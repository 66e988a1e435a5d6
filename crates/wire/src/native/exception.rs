//! The exception of a server, as a client reads it.

use std::io::Read;

use basalt_base::{Error, ErrorCode};

use crate::read::{ReadPrimitives, ReadResult, malformed};

const NAME_BYTES_MAX: usize = 64 << 10;
const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// Exceptions within each other.
const NESTED_MAX: usize = 100;

/// How the messages of a server begin.
const HEAD: &str = "DB::Exception: ";

/// Reads the packet after its type. The exceptions inside of the first one say where it came from, and are left out.
pub(super) fn read_exception(input: &mut impl Read) -> ReadResult<Error> {
    let (error, mut has_nested) = read_one(input)?;
    for _ in 0..NESTED_MAX {
        if !has_nested {
            return Ok(error);
        }
        (_, has_nested) = read_one(input)?;
    }
    Err(malformed(format!("an exception has more than {NESTED_MAX} others inside")))
}

/// An exception without those inside of it, and whether there are any.
fn read_one(input: &mut impl Read) -> ReadResult<(Error, bool)> {
    let number = input.number32()?;
    input.prefixed(NAME_BYTES_MAX, "the name of an exception")?;
    let message = input.prefixed(MESSAGE_BYTES_MAX, "the message of an exception")?;
    input.prefixed(MESSAGE_BYTES_MAX, "the stack of an exception")?;
    let has_nested = input.byte()? != 0;
    Ok((error(number, &String::from_utf8_lossy(&message)), has_nested))
}

/// The error with the number and the message of a server. A number that has no code here is in the message.
fn error(number: u32, message: &str) -> Error {
    let message = message.strip_prefix(HEAD).unwrap_or(message).trim_end();
    let Some(code) = u16::try_from(number).ok().and_then(ErrorCode::of_number) else {
        return Error::new(ErrorCode::ReceivedErrorFromRemoteIoServer, format!("{message} (code {number})"));
    };
    let name = format!("({})", code.name());
    let message = message.strip_suffix(&name).unwrap_or(message).trim_end();
    Error::new(code, message.strip_suffix('.').unwrap_or(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::ReadError;
    use crate::write::put_text;

    fn exception(number: u32, message: &str, nested: &[u8]) -> Vec<u8> {
        let mut bytes = number.to_le_bytes().to_vec();
        put_text(&mut bytes, "DB::Exception");
        put_text(&mut bytes, message);
        put_text(&mut bytes, "0. somewhere");
        bytes.push(u8::from(!nested.is_empty()));
        bytes.extend_from_slice(nested);
        bytes
    }

    fn check(bytes: &[u8], code: ErrorCode, message: &str) {
        let error = read_exception(&mut &*bytes).expect("whole");
        assert_eq!((error.code(), error.message()), (code, message));
    }

    #[test]
    fn code_and_message_are_those_of_the_server() {
        let inner = exception(1, "why", b"");
        check(
            &exception(60, "DB::Exception: Unknown table. (UNKNOWN_TABLE)", &inner),
            ErrorCode::UnknownTable,
            "Unknown table",
        );
        check(&exception(60, "Unknown table", b""), ErrorCode::UnknownTable, "Unknown table");
        for unknown in [9_999, u32::MAX] {
            let message = format!("odd (code {unknown})");
            check(&exception(unknown, "odd", b""), ErrorCode::ReceivedErrorFromRemoteIoServer, &message);
        }
    }

    #[test]
    fn endless_nesting_is_refused() {
        let mut bytes = exception(1, "x", b"");
        for _ in 0..2 * NESTED_MAX {
            bytes = exception(1, "x", &bytes);
        }
        assert!(matches!(read_exception(&mut bytes.as_slice()), Err(ReadError::Failed(_))));
    }
}
