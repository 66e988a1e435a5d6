//! Names of files in a part, from names in SQL.

/// Bytes of a name up to which its file is named after it.
const NAME_BYTES_MAX: usize = 120;

/// The file of the column at `position`: its escaped name; a number for one that is too long.
pub(crate) fn of_column(column: &str, position: usize) -> String {
    let name = escaped(column);
    if name.len() > NAME_BYTES_MAX { format!("%{position}.col") } else { name + ".col" }
}

/// The file of a column that is written into a part in which other columns have the files `taken`: a
/// column that was renamed keeps its file.
pub(crate) fn of_new_column(column: &str, position: usize, taken: &[String]) -> String {
    let plain = of_column(column, position);
    let stem = plain.strip_suffix(".col").unwrap_or(&plain);
    // No escaped name has a `%` with one digit behind it, and there are fewer columns than numbers.
    let others = (1_usize..).map(|number| format!("{stem}%{number}.col"));
    let mut names = std::iter::once(plain.clone()).chain(others);
    names.find(|name| !taken.contains(name)).unwrap_or(plain.clone())
}

/// The file of a skip index in a wide part.
pub(crate) fn of_skip_index(index: &str) -> String {
    format!("skp_idx_{}.idx", escaped(index))
}

/// The name with everything but letters, digits and `_` as `%` and two hex digits.
fn escaped(name: &str) -> String {
    let mut escaped = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}
