//! Conversions between types.

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[];
