//! Types and codecs.

use std::fmt::{self, Display, Formatter};

use basalt_base::types::quote_identifier;

use super::{Comma, Name, Text};
use crate::ast::{CodecArg, CodecCall, IndexCall, TypeArgument, TypeName};
use crate::parser::is_compound_type;

impl Display for TypeName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // A keyword elsewhere, but never here.
        let is_array = self.name.eq_ignore_ascii_case("Array");
        if is_array || is_compound_type(&self.name) {
            f.write_str(&self.name)?;
        } else {
            Name(&self.name).fmt(f)?;
        }
        if self.args.is_empty() { Ok(()) } else { write!(f, "({})", Comma(&self.args)) }
    }
}

impl Display for TypeArgument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TypeArgument::Type(ty) => ty.fmt(f),
            TypeArgument::Named(name, ty) => write!(f, "{} {ty}", Name(name)),
            TypeArgument::Literal(literal) => literal.fmt(f),
            TypeArgument::EnumValue(label, None) => Text(label.as_bytes()).fmt(f),
            TypeArgument::EnumValue(label, Some(value)) => write!(f, "{} = {value}", Text(label.as_bytes())),
        }
    }
}

impl Display for IndexCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&quote_identifier(&self.name))?;
        if self.args.is_empty() { Ok(()) } else { write!(f, "({})", Comma(&self.args)) }
    }
}

impl Display for CodecArg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            CodecArg::Literal(literal) => literal.fmt(f),
            CodecArg::Name(name) => Name(name).fmt(f),
        }
    }
}

impl Display for CodecCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&quote_identifier(&self.name))?;
        if self.args.is_empty() { Ok(()) } else { write!(f, "({})", Comma(&self.args)) }
    }
}
