//! Writes strings, each after its length as a varint.

use arrow::array::{Array, BinaryViewArray};
use basalt_base::string_views::INLINE_BYTES_MAX;

use super::varint::{VARINT_BYTES_MAX, write_varint};

/// Bytes that a short string is copied as, its length included: a copy of fixed size is faster.
const SHORT_BYTES: usize = 16;

/// Writes the strings of `array`; NULL as the empty string.
pub(crate) fn write_strings(array: &BinaryViewArray, out: &mut Vec<u8>) {
    let views = &**array.views();
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    if let Some(nulls) = nulls {
        for (row, valid) in nulls.iter().enumerate() {
            let string = if valid { array.value(row) } else { b"" };
            super::write_string(string, out);
        }
        return;
    }
    let all: usize = views.iter().map(|&view| view as u32 as usize).sum();
    out.reserve(all + views.len() + SHORT_BYTES);
    for (row, &view) in views.iter().enumerate() {
        let length = view as u32 as usize;
        if length <= INLINE_BYTES_MAX {
            // The bytes after the length of an inline view are the string: they are moved after a length of one byte.
            let short = ((view >> 32) << 8) | length as u128;
            let start = out.len();
            out.extend_from_slice(&short.to_le_bytes());
            out.truncate(start + 1 + length);
        } else {
            write_varint(length as u64, out);
            out.extend_from_slice(array.value(row));
        }
    }
}

const _: () =
    assert!(INLINE_BYTES_MAX < 0x80 && INLINE_BYTES_MAX < SHORT_BYTES && VARINT_BYTES_MAX < SHORT_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_any_length_follow_their_length() {
        let strings: Vec<Vec<u8>> = (0..300).map(|length| vec![length as u8; length]).collect();
        let mut array = BinaryViewArray::from_iter_values(&strings);
        array = array.slice(5, 290);
        let (mut out, mut expected) = (vec![1], vec![1]);
        write_strings(&array, &mut out);
        strings[5..295].iter().for_each(|string| super::super::write_string(string, &mut expected));
        assert_eq!(out, expected);
        out.clear();
        write_strings(&BinaryViewArray::from(vec![Some(&b"a"[..]), None]), &mut out);
        assert_eq!(out, b"\x01a\0");
    }
}
