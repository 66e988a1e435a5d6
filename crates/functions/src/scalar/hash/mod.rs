//! Hashes and checksums.

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[];
