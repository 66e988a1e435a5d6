//! Where a number ends.

/// The byte after the number that starts at `start`: decimal with point and exponent, `0x`, `0b`, underscores between
/// digits.
pub(crate) fn number_end(source: &[u8], start: usize) -> usize {
    let at = |position: usize| source.get(position).copied().unwrap_or(0);
    if at(start) == b'0' && matches!(at(start + 1), b'x' | b'X') && at(start + 2).is_ascii_hexdigit() {
        return hexadecimal_end(source, start + 2);
    }
    if at(start) == b'0' && matches!(at(start + 1), b'b' | b'B') && matches!(at(start + 2), b'0' | b'1') {
        return digits_end(source, start + 2, |byte| matches!(byte, b'0' | b'1'));
    }
    let mut end = digits_end(source, start, |byte| byte.is_ascii_digit());
    if at(end) == b'.' {
        end = digits_end(source, end + 1, |byte| byte.is_ascii_digit());
    }
    exponent_end(source, end, b'e')
}

fn hexadecimal_end(source: &[u8], start: usize) -> usize {
    let end = digits_end(source, start, |byte| byte.is_ascii_hexdigit());
    exponent_end(source, end, b'p')
}

/// The end of an exponent at `start`, or `start` if there is none.
fn exponent_end(source: &[u8], start: usize, letter: u8) -> usize {
    let at = |position: usize| source.get(position).copied().unwrap_or(0);
    if !at(start).eq_ignore_ascii_case(&letter) {
        return start;
    }
    let digits = if matches!(at(start + 1), b'+' | b'-') { start + 2 } else { start + 1 };
    if !at(digits).is_ascii_digit() {
        return start;
    }
    digits_end(source, digits, |byte| byte.is_ascii_digit())
}

/// The end of a run of digits; an underscore counts only between two digits.
fn digits_end(source: &[u8], start: usize, is_digit: impl Fn(u8) -> bool) -> usize {
    let mut end = start;
    while let Some(&byte) = source.get(end) {
        let joins = byte == b'_' && end > start && source.get(end + 1).is_some_and(|&next| is_digit(next));
        if !joins && !is_digit(byte) {
            break;
        }
        end += 1;
    }
    end
}
