//! Functions of tuples.

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[];
