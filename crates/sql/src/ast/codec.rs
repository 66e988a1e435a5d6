//! Codecs of columns.

use super::{Ident, Literal};

/// One link of `CODEC(Delta(4), ZSTD(1))`.
#[derive(Clone, Debug, PartialEq)]
pub struct CodecCall {
    pub name: Ident,
    pub args: Vec<CodecArg>,
}

/// An argument of a codec: `4`, `'bit'` or `STD`.
#[derive(Clone, Debug, PartialEq)]
pub enum CodecArg {
    Literal(Literal),
    Name(Ident),
}
