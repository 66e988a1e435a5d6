//! Constants: numbers, strings, and the places where a constant alone is allowed.

use super::cursor::{Cursor, Parsed};
use crate::ast::{Literal, Setting, Statement};
use crate::error::ParseErrorKind;
use crate::lexer::{Symbol, Token, TokenKind, heredoc_body};

impl Cursor<'_> {
    /// The next token as a constant, if it is one; a sign is not part of it.
    pub(super) fn try_unsigned_literal(&mut self) -> Parsed<Option<Literal>> {
        let token = self.peek();
        if let Some(bytes) = self.coded_bytes(token)? {
            self.take();
            self.take();
            return Ok(Some(Literal::String(bytes)));
        }
        let literal = match token.kind {
            TokenKind::Number => self.number_of(token)?,
            TokenKind::String => Literal::String(self.unquoted(token)),
            TokenKind::Heredoc => Literal::String(heredoc_body(self.text(token)).to_vec()),
            TokenKind::Word => match word_literal(self.text(token)) {
                Some(literal) => literal,
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.take();
        Ok(Some(literal))
    }

    /// A constant, with its sign folded in.
    pub(super) fn parse_literal(&mut self) -> Parsed<Literal> {
        let negative = self.eat_symbol(Symbol::Minus);
        if !negative {
            self.eat_symbol(Symbol::Plus);
        }
        let token = self.peek();
        match self.try_unsigned_literal()? {
            Some(literal) if !negative => Ok(literal),
            Some(literal) => negate(literal)
                .ok_or_else(|| self.failure(ParseErrorKind::Syntax, token, "only a number may have a sign")),
            None => {
                self.note("literal");
                Err(self.unexpected())
            }
        }
    }

    /// A string that must be text, such as a path or a comment.
    pub(super) fn parse_string(&mut self) -> Parsed<String> {
        let token = self.peek();
        let bytes = match token.kind {
            TokenKind::String => self.unquoted(token),
            TokenKind::Heredoc => heredoc_body(self.text(token)).to_vec(),
            _ => {
                self.note("string");
                return Err(self.unexpected());
            }
        };
        self.take();
        self.utf8(bytes, token, "the string")
    }

    pub(super) fn parse_u64(&mut self) -> Parsed<u64> {
        let token = self.peek();
        if token.kind == TokenKind::Number
            && let Literal::UInt(number) = self.number_of(token)?
        {
            self.take();
            return Ok(number);
        }
        self.note("number");
        Err(self.unexpected())
    }

    /// The bytes of `x'6162'` or `b'01100001'`, if that comes.
    fn coded_bytes(&mut self, token: Token) -> Parsed<Option<Vec<u8>>> {
        let next = self.peek_at(1);
        if token.kind != TokenKind::Word || next.kind != TokenKind::String || next.start != token.end {
            return Ok(None);
        }
        let (radix, digits_a_byte) = match self.text(token) {
            b"x" | b"X" => (16, 2),
            b"b" | b"B" => (2, 8),
            _ => return Ok(None),
        };
        match bytes_of_digits(&self.unquoted(next), radix, digits_a_byte) {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(self.failure(ParseErrorKind::Syntax, next, "the digits of the bytes are wrong")),
        }
    }

    /// `name = value, name = value`.
    pub(super) fn parse_settings(&mut self) -> Parsed<Vec<Setting>> {
        self.parse_list(Cursor::parse_setting)
    }

    /// `name = value, name = DEFAULT`, after SET.
    pub(super) fn parse_set_statement(&mut self) -> Parsed<Statement> {
        let (mut changes, mut defaults) = (Vec::new(), Vec::new());
        self.parse_list(|cursor| {
            let name = cursor.parse_column_name()?;
            cursor.expect_symbol(Symbol::Equal)?;
            if cursor.eat("DEFAULT") {
                defaults.push(name);
            } else {
                changes.push(Setting { name, value: cursor.parse_literal()? });
            }
            Ok(())
        })?;
        Ok(Statement::Set { changes, defaults })
    }

    pub(super) fn parse_setting(&mut self) -> Parsed<Setting> {
        let name = self.parse_column_name()?;
        self.expect_symbol(Symbol::Equal)?;
        Ok(Setting { name, value: self.parse_literal()? })
    }

    fn number_of(&self, token: Token) -> Parsed<Literal> {
        let digits: Vec<u8> = self.text(token).iter().copied().filter(|&byte| byte != b'_').collect();
        let text = self.utf8(digits, token, "a number")?;
        match integer(&text) {
            Some(literal) => Ok(literal),
            // An integer with a base that does not fit has no decimal text to keep.
            None if has_base(&text) && !text.contains(['p', 'P']) => {
                Err(self.failure(ParseErrorKind::Syntax, token, "the number does not fit into UInt64"))
            }
            None => Ok(Literal::Number(text)),
        }
    }
}

/// The first byte may have fewer digits.
fn bytes_of_digits(digits: &[u8], radix: u32, digits_a_byte: usize) -> Option<Vec<u8>> {
    let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.is_ascii())?;
    let missing = digits.len().next_multiple_of(digits_a_byte) - digits.len();
    let padded = format!("{}{digits}", "0".repeat(missing));
    let starts = (0..padded.len()).step_by(digits_a_byte);
    starts
        .map(|start| {
            let byte = &padded[start..start + digits_a_byte];
            byte.bytes().all(|digit| digit != b'+').then(|| u8::from_str_radix(byte, radix).ok()).flatten()
        })
        .collect()
}

fn has_base(text: &str) -> bool {
    text.starts_with("0x") || text.starts_with("0X") || text.starts_with("0b") || text.starts_with("0B")
}

fn integer(text: &str) -> Option<Literal> {
    let (digits, radix) = match text.get(..2) {
        Some("0x" | "0X") => (&text[2..], 16),
        Some("0b" | "0B") => (&text[2..], 2),
        _ => (text, 10),
    };
    u64::from_str_radix(digits, radix).ok().map(Literal::UInt)
}

/// `NULL`, `true`, `false`, `inf`, `nan`.
fn word_literal(word: &[u8]) -> Option<Literal> {
    let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    Some(match () {
        () if is("NULL") => Literal::Null,
        () if is("true") => Literal::Bool(true),
        () if is("false") => Literal::Bool(false),
        () if is("inf") || is("infinity") => Literal::Number("inf".to_owned()),
        () if is("nan") => Literal::Number("nan".to_owned()),
        () => return None,
    })
}

fn negate(literal: Literal) -> Option<Literal> {
    match literal {
        Literal::UInt(number) => Some(match 0_i64.checked_sub_unsigned(number) {
            Some(negative) => Literal::Int(negative),
            None => Literal::Number(format!("-{number}")),
        }),
        Literal::Number(text) => Some(Literal::Number(format!("-{text}"))),
        _ => None,
    }
}
