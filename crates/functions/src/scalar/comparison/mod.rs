//! Comparisons and logic in the form of function calls.

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[];
