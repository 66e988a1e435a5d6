//! Functions over strings.

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[];
