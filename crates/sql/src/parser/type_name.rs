//! Types and codecs as written.

use super::cursor::{Cursor, Parsed};
use crate::ast::{CodecArg, CodecCall, IndexCall, Literal, TypeArgument, TypeName};
use crate::lexer::{Symbol, TokenKind};

/// Types whose names are several words, longest first.
const COMPOUND_TYPES: &[&str] = &[
    "NATIONAL CHARACTER LARGE OBJECT",
    "NATIONAL CHARACTER VARYING",
    "NATIONAL CHAR VARYING",
    "CHARACTER LARGE OBJECT",
    "NCHAR LARGE OBJECT",
    "TIMESTAMP WITH TIME ZONE",
    "TIMESTAMP WITHOUT TIME ZONE",
    "BINARY LARGE OBJECT",
    "CHAR LARGE OBJECT",
    "CHARACTER VARYING",
    "NATIONAL CHARACTER",
    "NATIONAL CHAR",
    "NCHAR VARYING",
    "BINARY VARYING",
    "CHAR VARYING",
    "DOUBLE PRECISION",
    "TINYINT UNSIGNED",
    "SMALLINT UNSIGNED",
    "MEDIUMINT UNSIGNED",
    "INT UNSIGNED",
    "INTEGER UNSIGNED",
    "BIGINT UNSIGNED",
    "TINYINT SIGNED",
    "SMALLINT SIGNED",
    "MEDIUMINT SIGNED",
    "INT SIGNED",
    "INTEGER SIGNED",
    "BIGINT SIGNED",
];

/// Whether a name of several words is that of a type and prints without quotes.
pub(crate) fn is_compound_type(name: &str) -> bool {
    COMPOUND_TYPES.contains(&name)
}

impl Cursor<'_> {
    pub(super) fn parse_type(&mut self) -> Parsed<TypeName> {
        self.nested(|cursor| {
            cursor.note("type");
            let name = match cursor.eat_compound_type() {
                Some(name) => name.to_owned(),
                None => cursor.parse_ident()?,
            };
            if !cursor.is_symbol(Symbol::OpenParen) {
                return Ok(TypeName { name, args: Vec::new() });
            }
            let is_enum = ["Enum", "Enum8", "Enum16"].iter().any(|known| known.eq_ignore_ascii_case(&name));
            let args = cursor.parse_parenthesized(|cursor| cursor.parse_type_argument(is_enum))?;
            // `INT(11) UNSIGNED`, as MySQL prints it.
            let signedness = ["UNSIGNED", "SIGNED"].iter().find(|word| cursor.is_word(word));
            if let Some(word) = signedness
                && is_compound_type(&format!("{} {word}", name.to_ascii_uppercase()))
            {
                cursor.take();
                return Ok(TypeName {
                    name: format!("{} {word}", name.to_ascii_uppercase()),
                    args: Vec::new(),
                });
            }
            Ok(TypeName { name, args })
        })
    }

    fn eat_compound_type(&mut self) -> Option<&'static str> {
        let name = COMPOUND_TYPES.iter().find(|phrase| self.is_phrase(phrase))?;
        for _ in name.split(' ') {
            self.take();
        }
        Some(name)
    }

    fn parse_type_argument(&mut self, in_enum: bool) -> Parsed<TypeArgument> {
        match self.peek_kind() {
            TokenKind::String if in_enum || self.is_symbol_at(1, Symbol::Equal) => self.parse_enum_value(),
            TokenKind::Word | TokenKind::QuotedName => self.parse_named_argument(),
            _ => self.parse_literal().map(TypeArgument::Literal),
        }
    }

    fn parse_enum_value(&mut self) -> Parsed<TypeArgument> {
        let label = self.parse_string()?;
        if !self.eat_symbol(Symbol::Equal) {
            return Ok(TypeArgument::EnumValue(label, None));
        }
        match self.parse_literal()? {
            Literal::Int(value) => Ok(TypeArgument::EnumValue(label, Some(value))),
            Literal::UInt(value) if i64::try_from(value).is_ok() => {
                Ok(TypeArgument::EnumValue(label, Some(value.cast_signed())))
            }
            _ => Err(self.refuse("the value of an enum must be a whole number")),
        }
    }

    /// `Type` or `name Type`.
    fn parse_named_argument(&mut self) -> Parsed<TypeArgument> {
        let follows_name = matches!(self.peek_at(1).kind, TokenKind::Word | TokenKind::QuotedName);
        let compound = COMPOUND_TYPES.iter().any(|phrase| self.is_phrase(phrase));
        if !follows_name || compound {
            return self.parse_type().map(TypeArgument::Type);
        }
        let name = self.parse_ident()?;
        Ok(TypeArgument::Named(name, self.parse_type()?))
    }

    /// `CODEC(a, b(1))`.
    pub(super) fn parse_codec_clause(&mut self) -> Parsed<Vec<CodecCall>> {
        self.expect("CODEC")?;
        self.parse_codec_chain()
    }

    /// `(a, b(1))`, at least one.
    fn parse_codec_chain(&mut self) -> Parsed<Vec<CodecCall>> {
        self.expect_symbol(Symbol::OpenParen)?;
        let calls = self.parse_list(Cursor::parse_codec_call)?;
        self.expect_symbol(Symbol::CloseParen)?;
        Ok(calls)
    }

    /// A codec as a text of its own: the clause, or only the chain in it.
    pub(super) fn parse_codec_text(&mut self) -> Parsed<Vec<CodecCall>> {
        if self.is_word("CODEC") {
            return self.parse_codec_clause();
        }
        if self.is_symbol(Symbol::OpenParen) {
            return self.parse_codec_chain();
        }
        self.parse_list(Cursor::parse_codec_call)
    }

    /// `name` or `name(arguments)`.
    fn parse_codec_call(&mut self) -> Parsed<CodecCall> {
        let name = self.parse_ident()?;
        let has_args = self.is_symbol(Symbol::OpenParen);
        let args = if has_args { self.parse_parenthesized(Cursor::parse_codec_arg)? } else { Vec::new() };
        Ok(CodecCall { name, args })
    }

    /// A literal, or a bare word as in `ALP(STD)`.
    fn parse_codec_arg(&mut self) -> Parsed<CodecArg> {
        if let Some(literal) = self.try_unsigned_literal()? {
            return Ok(CodecArg::Literal(literal));
        }
        match self.peek_kind() {
            TokenKind::Word | TokenKind::QuotedName => self.parse_ident().map(CodecArg::Name),
            _ => self.parse_literal().map(CodecArg::Literal),
        }
    }

    /// `name` or `name(literals)`.
    pub(super) fn parse_index_call(&mut self) -> Parsed<IndexCall> {
        let name = self.parse_ident()?;
        let has_args = self.is_symbol(Symbol::OpenParen);
        let args = if has_args { self.parse_parenthesized(Cursor::parse_literal)? } else { Vec::new() };
        Ok(IndexCall { name, args })
    }
}
