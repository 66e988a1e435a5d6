//! Data sets and scripts that are not part of the checkout.

use std::path::{Path, PathBuf};

/// A file below `BASALT_SHARED`, or below `shared` next to the checkout; a test that needs one ends early
/// if it is missing, also in CI.
pub fn file(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("BASALT_SHARED").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| checkout().join("../shared"));
    let path = folder.join(name);
    if path.is_file() {
        return Some(path);
    }
    crate::skipped_in_ci_too(&format!("{} is not there (BASALT_SHARED names its folder)", path.display()));
    None
}

/// The root of the checkout.
pub fn checkout() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().and_then(Path::parent).expect("crates/itest").to_owned()
}
