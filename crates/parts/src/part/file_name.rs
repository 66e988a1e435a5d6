//! Names of files in a part.

use basalt_base::siphash::sip_hash128;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The longest file name that every file system supports.
const FILE_NAME_BYTES_MAX: usize = 255;

/// The longest escaped column name that becomes a file name.
const NAME_BYTES_MAX: usize = 120;

/// The file of the column at `position`: its escaped name, or a number if that is too long.
pub(crate) fn of_column(column: &str, position: usize) -> String {
    let name = escaped(column);
    if name.len() > NAME_BYTES_MAX { format!("%{position}.col") } else { name + ".col" }
}

/// The file of a new column in a part whose other columns have the files `taken`; a renamed column may have kept
/// this column's name.
pub(crate) fn of_new_column(column: &str, position: usize, taken: &[String]) -> String {
    let plain = of_column(column, position);
    let stem = plain.strip_suffix(".col").unwrap_or(&plain);
    // No escaped name has a `%` followed by one digit, and there are fewer columns than numbers.
    let others = (1_usize..).map(|number| format!("{stem}%{number}.col"));
    let mut names = std::iter::once(plain.clone()).chain(others);
    names.find(|name| !taken.contains(name)).unwrap_or(plain.clone())
}

/// The file of a skip index in a wide part: its escaped name, or a hash if that is too long.
pub(crate) fn of_skip_index(index: &str) -> String {
    let plain = format!("skp_idx_{}.idx", escaped(index));
    if plain.len() <= FILE_NAME_BYTES_MAX {
        return plain;
    }
    let hash = hex::encode(sip_hash128(index.as_bytes()));
    // No escaped name has an `h` after a `%`.
    format!("skp_idx_%h{hash}.idx")
}

/// The bytes that a file name escapes.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_');

/// The name with everything but letters, digits and `_` as `%` and two hexadecimal digits.
fn escaped(name: &str) -> String {
    utf8_percent_encode(name, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_name_is_never_too_long() {
        for name in ["i".repeat(243), "i".repeat(244), "\u{e9}".repeat(1000)] {
            assert!(of_skip_index(&name).len() <= FILE_NAME_BYTES_MAX);
            assert!(of_column(&name, usize::MAX).len() <= FILE_NAME_BYTES_MAX);
        }
        assert_eq!(of_skip_index("a b"), "skp_idx_a%20b.idx");
        assert_ne!(of_skip_index(&"i".repeat(300)), of_skip_index(&"i".repeat(301)));
    }
}
