//! Parses column descriptions and rows: length-encoded integers and strings.

use crate::Row;

const NULL: u8 = 0xfb;
/// The type of BIT columns, whose values are raw bytes and not text.
const BIT: u8 = 16;
/// Strings before the fixed fields of a column description.
const NAMES: usize = 6;
/// Bytes before the type: the length of the fixed fields, a character set, the display width.
const BEFORE_TYPE_BYTES: usize = 1 + 2 + 4;

/// Whether the described column is a BIT column; `None` if the message is damaged.
pub(super) fn parse_is_bit(message: &[u8]) -> Option<bool> {
    let mut rest = message;
    for _ in 0..NAMES {
        parse_text(&mut rest)?;
    }
    Some(*rest.get(BEFORE_TYPE_BYTES)? == BIT)
}

/// Fills `row`; `None` if the message is damaged. The values of columns marked in `bits` become decimal numbers.
pub(super) fn parse_row(message: &[u8], bits: &[bool], row: &mut Row) -> Option<()> {
    row.clear();
    let mut rest = message;
    while let Some(&first) = rest.first() {
        if first == NULL {
            rest = &rest[1..];
            row.push(None);
            continue;
        }
        let text = parse_text(&mut rest)?;
        if !bits.get(row.len()).is_some_and(|&is_bit| is_bit) {
            row.push(Some(text));
            continue;
        }
        let mut number = [0; 8];
        let start = number.len().checked_sub(text.len())?;
        number[start..].copy_from_slice(text);
        row.push(Some(u64::from_be_bytes(number).to_string().as_bytes()));
    }
    Some(())
}

fn parse_text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let bytes = usize::try_from(parse_number(rest)?).ok()?;
    let (text, after) = rest.split_at_checked(bytes)?;
    *rest = after;
    Some(text)
}

/// A length-encoded integer.
pub(super) fn parse_number(rest: &mut &[u8]) -> Option<u64> {
    let (&first, after) = rest.split_first()?;
    let width = match first {
        0..=0xfa => {
            *rest = after;
            return Some(u64::from(first));
        }
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => return None,
    };
    let mut bytes = [0; 8];
    bytes[..width].copy_from_slice(after.get(..width)?);
    *rest = &after[width..];
    Some(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_row_is_refused_without_a_panic() {
        let body = [&[2][..], b"ab", &[NULL], &[0xfc, 3, 0], b"cde", &[0], &[2, 1, 4]].concat();
        let bits = [false, false, false, false, true];
        let mut row = Row::default();
        assert_eq!(parse_row(&body, &bits, &mut row), Some(()));
        assert_eq!(
            row.fields().collect::<Vec<_>>(),
            [Some(&b"ab"[..]), None, Some(b"cde"), Some(b""), Some(b"260")]
        );
        for bit in 0..body.len() * 8 {
            let mut damaged = body.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let _ = parse_row(&damaged, &bits, &mut row);
        }
        assert_eq!(parse_row(&body[..2], &bits, &mut row), None);
        assert_eq!(parse_row(&[0xfd, 1], &bits, &mut row), None);
        assert_eq!(parse_row(&[9, 1, 2, 3, 4, 5, 6, 7, 8, 9], &[true], &mut row), None);
    }

    #[test]
    fn a_damaged_description_of_a_column_is_refused() {
        let column = [&[3][..], b"def", &[0, 1], b"t", &[1], b"t", &[1], b"v", &[1], b"v"].concat();
        let column = [&column[..], &[0x0c, 63, 0, 1, 0, 0, 0, BIT, 0, 0, 0]].concat();
        assert_eq!(parse_is_bit(&column), Some(true));
        for end in 0..column.len() - 3 {
            assert_eq!(parse_is_bit(&column[..end]), None, "{end}");
        }
    }
}
