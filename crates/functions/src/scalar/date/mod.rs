//! Functions of dates and times.

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[];
