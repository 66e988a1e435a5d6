//! Functions of the session, of chance and of presentation.

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[];
