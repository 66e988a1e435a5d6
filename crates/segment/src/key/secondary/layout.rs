//! Names in a file.

/// The name in the directory.
pub(super) const ENCODING: &str = "entries";

/// The component of the values.
pub(super) fn values_of(name: &str) -> String {
    format!("{name}/values")
}
