//! Settings of a statement.

use super::{Ident, Literal};

/// `name = value` of a SETTINGS clause or a SET statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub name: Ident,
    pub value: Literal,
}
