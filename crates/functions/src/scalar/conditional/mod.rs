//! Choices between values, and what NULL turns into.

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[];
