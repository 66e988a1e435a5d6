//! Functions of arrays and maps.

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[];
