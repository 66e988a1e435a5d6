//! Casts, and Postgres' names of types.

use crate::ast::{Expr, FunctionCall, Lambda, Literal, TypeArgument, TypeName};
use crate::error::ParseError;
use crate::lexer::{Symbol, TokenKind};
use crate::parser::cursor::{Cursor, Parsed};

use super::parameter::{type_name, unknown_parameter};
use super::state::PostgresState;

/// What a written type means.
pub(super) enum CastTarget {
    Type(TypeName),
    /// The function that makes the value, such as `regclass`.
    Function(&'static str),
}

/// Names of types in lower case, and the types that they mean.
const TYPES: &[(&str, &str)] = &[
    ("bool", "Bool"),
    ("boolean", "Bool"),
    ("int2", "Int16"),
    ("smallint", "Int16"),
    ("int4", "Int32"),
    ("int", "Int32"),
    ("integer", "Int32"),
    ("int8", "Int64"),
    ("bigint", "Int64"),
    ("float4", "Float32"),
    ("real", "Float32"),
    ("float8", "Float64"),
    ("float", "Float64"),
    ("double precision", "Float64"),
    ("text", "String"),
    ("varchar", "String"),
    ("character varying", "String"),
    ("char varying", "String"),
    ("bpchar", "String"),
    ("char", "String"),
    ("character", "String"),
    ("name", "String"),
    ("cstring", "String"),
    ("citext", "String"),
    ("unknown", "String"),
    ("json", "String"),
    ("jsonb", "String"),
    ("xml", "String"),
    ("bytea", "String"),
    ("time", "String"),
    ("timetz", "String"),
    ("inet", "String"),
    ("cidr", "String"),
    ("macaddr", "String"),
    ("aclitem", "String"),
    ("pg_node_tree", "String"),
    ("uuid", "UUID"),
    ("date", "Date32"),
    ("oid", "UInt32"),
    ("xid", "UInt32"),
    ("cid", "UInt32"),
];

/// Types whose values are names of objects, or their numbers.
const OBJECT_TYPES: &[&str] =
    &["regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole", "regcollation", "regoper"];

/// Digits of `numeric` without a precision.
const NUMERIC_DIGITS: (u64, u64) = (38, 10);

/// Digits of a second that a timestamp has.
const TIMESTAMP_DIGITS: u64 = 6;

/// The type that Postgres' name `text` means.
pub fn parse_postgres_type(text: &[u8]) -> Result<TypeName, ParseError> {
    let mut cursor = Cursor::new(text, 0).with_postgres(PostgresState::new(&[]), 0);
    let parsed = cursor.parse_column_type().and_then(|ty| cursor.expect_end().map(|()| ty));
    parsed.map_err(|failure| ParseError::new(text, *failure))
}

/// The type with NULL, where it can have one: a cast keeps NULL.
pub(super) fn nullable(ty: TypeName) -> TypeName {
    let plain = ["Nullable", "Array", "Map", "Tuple", "Nested", "LowCardinality"];
    if plain.contains(&ty.name.as_str()) {
        return ty;
    }
    TypeName { name: "Nullable".to_owned(), args: vec![TypeArgument::Type(ty)] }
}

impl Cursor<'_> {
    /// Starts after `::` or AS.
    pub(in crate::parser) fn parse_postgres_cast(&mut self, value: Expr) -> Parsed<Expr> {
        let target = self.parse_cast_target()?;
        let depth = self.eat_array_bounds()?;
        match target {
            CastTarget::Type(ty) => {
                let ty = (0..depth).fold(ty, |ty, _| array_of(ty));
                self.note_cast(&value, &ty);
                let is_unbound = unknown_parameter(&value).is_some() && ty.name == "Array";
                let value = if is_unbound { Expr::Array(Vec::new()) } else { value };
                Ok(cast(value, ty))
            }
            CastTarget::Function(name) if depth == 0 => Ok(call(name, vec![value])),
            // `x::regtype[]`: each element.
            CastTarget::Function(name) => {
                let body = Box::new(call(name, vec![Expr::Identifier(vec!["element".to_owned()])]));
                let each = Expr::Lambda(Lambda { params: vec!["element".to_owned()], body });
                Ok(call("arrayMap", vec![each, value]))
            }
        }
    }

    /// The type of a column in CREATE TABLE: NULL is allowed for Postgres' names, not for ClickHouse's.
    pub(in crate::parser) fn parse_column_type(&mut self) -> Parsed<TypeName> {
        let is_own = self.peek_postgres_type().is_some() || self.is_type_with_digits();
        match self.parse_cast_target()? {
            CastTarget::Type(ty) => {
                let depth = self.eat_array_bounds()?;
                let ty = (0..depth).fold(ty, |ty, _| array_of(ty));
                Ok(if is_own { nullable(ty) } else { ty })
            }
            CastTarget::Function(_) => Ok(type_name("UInt32")),
        }
    }

    /// Whether `numeric`, `timestamp` or a relative of theirs comes next, and not ClickHouse's `Decimal`.
    fn is_type_with_digits(&mut self) -> bool {
        let token = self.peek();
        self.is_one_of(&["numeric", "decimal", "timestamp", "timestamptz"])
            && !is_clickhouse(self.text(token))
    }

    /// `Postgres' name` as one of [`TYPES`], and the number of its tokens. ClickHouse's names have capitals.
    fn peek_postgres_type(&mut self) -> Option<(&'static str, usize)> {
        let two = ["double precision", "character varying", "char varying"];
        for phrase in two {
            if self.is_phrase(phrase) {
                return TYPES.iter().find(|(name, _)| *name == phrase).map(|(_, ty)| (*ty, 2));
            }
        }
        let token = self.peek();
        let name = match token.kind {
            TokenKind::Word => self.text(token).to_vec(),
            TokenKind::QuotedName => self.unquoted(token),
            _ => return None,
        };
        let found = TYPES.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(&name));
        found.filter(|_| !is_clickhouse(&name)).map(|(_, ty)| (*ty, 1))
    }

    fn parse_cast_target(&mut self) -> Parsed<CastTarget> {
        if self.is_one_of(&["pg_catalog", "information_schema"]) && self.is_symbol_at(1, Symbol::Dot) {
            self.take();
            self.take();
        }
        if let Some(name) = OBJECT_TYPES.iter().find(|name| self.is_word(name)) {
            self.take();
            return Ok(CastTarget::Function(match *name {
                "regprocedure" => "regproc",
                other => other,
            }));
        }
        if self.is_one_of(&["int2vector", "oidvector"]) {
            let is_short = self.is_word("int2vector");
            self.take();
            return Ok(CastTarget::Type(array_of(type_name(if is_short { "Int16" } else { "UInt32" }))));
        }
        if let Some((ty, token_count)) = self.peek_postgres_type() {
            for _ in 0..token_count {
                self.take();
            }
            self.skip_type_modifier()?;
            return Ok(CastTarget::Type(type_name(ty)));
        }
        if self.is_one_of(&["numeric", "decimal"]) {
            return self.parse_numeric().map(CastTarget::Type);
        }
        if self.is_one_of(&["timestamp", "timestamptz"]) {
            return self.parse_timestamp().map(CastTarget::Type);
        }
        self.parse_type().map(CastTarget::Type)
    }

    /// `(20)` after a name whose length has no effect, and the words after `time`.
    fn skip_type_modifier(&mut self) -> Parsed<()> {
        if self.is_symbol(Symbol::OpenParen) {
            self.parse_parenthesized(Cursor::parse_u64)?;
        }
        let _noise = self.eat("WITHOUT TIME ZONE") || self.eat("WITH TIME ZONE");
        Ok(())
    }

    fn parse_numeric(&mut self) -> Parsed<TypeName> {
        self.take();
        let has_digits = self.is_symbol(Symbol::OpenParen);
        let digits = if has_digits { self.parse_parenthesized(Cursor::parse_u64)? } else { Vec::new() };
        let (precision, scale) = match digits.as_slice() {
            [] => NUMERIC_DIGITS,
            [precision, rest @ ..] => (*precision, rest.first().copied().unwrap_or(0)),
        };
        Ok(with_numbers("Decimal", &[precision, scale]))
    }

    pub(super) fn parse_timestamp(&mut self) -> Parsed<TypeName> {
        let mut is_zoned = self.is_word("timestamptz");
        self.take();
        let has_digits = self.is_symbol(Symbol::OpenParen);
        let digits = if has_digits { self.parse_parenthesized(Cursor::parse_u64)? } else { Vec::new() };
        if !self.eat("WITHOUT TIME ZONE") && self.eat("WITH TIME ZONE") {
            is_zoned = true;
        }
        let digits = digits.first().copied().unwrap_or(TIMESTAMP_DIGITS);
        let mut ty = with_numbers("DateTime64", &[digits]);
        if is_zoned {
            ty.args.push(TypeArgument::Literal(Literal::String(b"UTC".to_vec())));
        }
        Ok(ty)
    }

    /// `[]` and `[3]` after a type: how many.
    fn eat_array_bounds(&mut self) -> Parsed<usize> {
        let mut depth = 0;
        while self.is_symbol(Symbol::OpenBracket)
            && (self.is_symbol_at(1, Symbol::CloseBracket) || self.is_symbol_at(2, Symbol::CloseBracket))
        {
            self.take();
            if !self.is_symbol(Symbol::CloseBracket) {
                self.parse_u64()?;
            }
            self.expect_symbol(Symbol::CloseBracket)?;
            depth += 1;
        }
        Ok(depth)
    }
}

/// Whether a name has capitals as ClickHouse's types have.
fn is_clickhouse(name: &[u8]) -> bool {
    name.first().is_some_and(u8::is_ascii_uppercase) && name.iter().any(u8::is_ascii_lowercase)
}

fn array_of(ty: TypeName) -> TypeName {
    TypeName { name: "Array".to_owned(), args: vec![TypeArgument::Type(ty)] }
}

fn with_numbers(name: &str, numbers: &[u64]) -> TypeName {
    let args = numbers.iter().map(|number| TypeArgument::Literal(Literal::UInt(*number))).collect();
    TypeName { name: name.to_owned(), args }
}

pub(super) fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Function(FunctionCall::plain(name, args))
}

pub(super) fn cast(value: Expr, ty: TypeName) -> Expr {
    let value = match value {
        // `'x'::regclass::text` is the name, not the number.
        Expr::Function(inner)
            if is_object_type(&inner.name) && is_literal(&inner.args) && ty.name == "String" =>
        {
            let name = inner.name.clone();
            call(&name, vec![Expr::Function(inner)])
        }
        // `'{1,2}'::int[]`
        Expr::Literal(Literal::String(text)) if ty.name == "Array" => {
            Expr::Literal(Literal::String(postgres_array_literal(&text)))
        }
        // No array of ours is NULL.
        null @ Expr::Literal(Literal::Null) if ty.name == "Array" => return null,
        other => other,
    };
    Expr::Cast { operand: Box::new(value), ty: nullable(ty) }
}

pub(super) fn is_object_type(name: &str) -> bool {
    OBJECT_TYPES.contains(&name)
}

fn is_literal(args: &[Expr]) -> bool {
    matches!(args, [Expr::Literal(_)])
}

/// Postgres' text of an array as ClickHouse writes it.
pub fn postgres_array_literal(text: &[u8]) -> Vec<u8> {
    let elements = array_elements(text);
    let mut out = vec![b'['];
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(Literal::String(element.clone()).to_string().as_bytes());
    }
    out.push(b']');
    out
}

/// The elements of `{a,"b c"}`; nested braces are elements of their own.
pub(super) fn array_elements(text: &[u8]) -> Vec<Vec<u8>> {
    let text = text.trim_ascii();
    let body = text.strip_prefix(b"{").and_then(|body| body.strip_suffix(b"}")).unwrap_or_default();
    let (mut elements, mut element, mut quoted) = (Vec::new(), Vec::new(), false);
    let mut bytes = body.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => element.extend(bytes.next()),
            b'"' => quoted = !quoted,
            b',' if !quoted => elements.push(std::mem::take(&mut element)),
            other => element.push(other),
        }
    }
    if !body.is_empty() {
        elements.push(element);
    }
    elements
}
