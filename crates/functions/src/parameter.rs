//! The text of a query parameter `{name:Type}`, which is a field of TabSeparated.

use basalt_base::{Error, ErrorCode, Result, SqlType};
use basalt_formats::text::unescape;

/// The text of the value: `text` with escapes undone, except inside strings in brackets. A tab or a line break would
/// end a field, so a value contains them as `\t` and `\n`, or after a backslash.
pub fn parameter_text(name: &str, text: &str, ty: &SqlType) -> Result<Vec<u8>> {
    let bytes = text.as_bytes();
    if matches!(ty.stripped(), SqlType::Array(_) | SqlType::Map(..) | SqlType::Tuple(_)) {
        return Ok(bytes.to_vec());
    }
    if let Some(end) = field_end(bytes) {
        return Err(Error::new(
            ErrorCode::BadQueryParameter,
            format!(
                "the value of the query parameter `{name}` is read as a field of TabSeparated, which ends at byte {end}: \
                 write `\\t` for a tab, `\\n` for a line break and `\\\\` for a backslash"
            ),
        ));
    }
    let mut value = Vec::with_capacity(bytes.len());
    unescape(bytes, &mut value).map_err(|error| error.within(format!("query parameter `{name}`")))?;
    Ok(value)
}

/// The offset of the first tab or line break without a backslash.
fn field_end(bytes: &[u8]) -> Option<usize> {
    let mut escaped = false;
    bytes.iter().position(|byte| {
        let ends = !escaped && matches!(byte, b'\t' | b'\n');
        escaped = !escaped && *byte == b'\\';
        ends
    })
}

/// The error for a value that does not parse as its type.
pub fn bad_parameter(name: &str, ty: &SqlType, error: Error) -> Error {
    let code = match error.code() {
        ErrorCode::CannotParseText | ErrorCode::CannotParseNumber => ErrorCode::BadQueryParameter,
        code => code,
    };
    Error::new(code, format!("{}: the value of the query parameter `{name}` is no {ty}", error.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, ty: &SqlType, expected: Option<&[u8]>) {
        assert_eq!(parameter_text("p", text, ty).ok().as_deref(), expected, "{text:?}");
    }

    #[test]
    fn escapes_are_undone_outside_of_brackets() {
        check(r"it\'s\tx", &SqlType::String, Some(b"it's\tx"));
        check(r"a\\tb", &SqlType::String, Some(br"a\tb"));
        check(r"\x41\q", &SqlType::String, Some(br"A\q"));
        check("a\\\tb\\\nc", &SqlType::String, Some(b"a\tb\nc"));
        check("a\\\\\tb", &SqlType::String, None);
        check("['a\tb']", &SqlType::array_of(SqlType::String), Some(b"['a\tb']"));
        check(r"['a\tb']", &SqlType::array_of(SqlType::String), Some(br"['a\tb']"));
        check("plain \u{e9}", &SqlType::String, Some("plain \u{e9}".as_bytes()));
        check(r"ends\", &SqlType::String, None);
        check("a\tb", &SqlType::String, None);
        check("a\nb", &SqlType::String, None);
    }
}
