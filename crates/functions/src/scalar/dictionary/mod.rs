//! Functions that ask a dictionary.

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[];
