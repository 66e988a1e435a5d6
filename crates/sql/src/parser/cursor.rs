//! The position in the tokens: look ahead, take, expect, and collect the words that would have fitted.

use std::collections::HashMap;

use super::postgres::PostgresState;
use crate::dialect::Dialect;
use crate::error::{Failure, ParseErrorKind};
use crate::lexer::{Lexer, Symbol, Token, TokenKind, unquote, unquote_postgres};

/// How deep expressions, queries and types may nest.
pub(super) const NESTING_MAX: usize = 200;
/// How high a tree may be: nesting, plus chains such as `1 + 1 + 1 ...` that grow without nesting.
pub(super) const HEIGHT_MAX: usize = 5000;
/// The height that one level of nesting counts as, because code that walks it recurses with larger frames.
const NESTED_HEIGHT: usize = HEIGHT_MAX / NESTING_MAX;

/// A failure is boxed: it is rare, and results travel through every level.
pub(super) type Parsed<T> = Result<T, Box<Failure>>;

#[derive(Debug)]
pub(super) struct Cursor<'a> {
    source: &'a [u8],
    lexer: Lexer<'a>,
    /// The values of query parameters, if they are known.
    parameters: Option<&'a HashMap<String, String>>,
    /// What the Postgres dialect needs; `None` in ClickHouse's.
    pub(super) postgres: Option<PostgresState<'a>>,
    /// The tokens read so far; `index` is the next to be taken.
    tokens: Vec<Token>,
    index: usize,
    /// The words that the parser looked for at token `expected_at` and did not find.
    expected: Vec<&'static str>,
    expected_at: usize,
    depth: usize,
    /// The greatest depth that the tree under construction reaches.
    reach: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(source: &'a [u8], position: usize) -> Cursor<'a> {
        Cursor {
            source,
            lexer: Lexer::new(source, position, Dialect::ClickHouse),
            parameters: None,
            postgres: None,
            tokens: Vec::new(),
            index: 0,
            expected: Vec::new(),
            expected_at: 0,
            depth: 0,
            reach: 0,
        }
    }

    /// Reads the Postgres dialect. No token may have been read before.
    pub(super) fn with_postgres(mut self, state: PostgresState<'a>, position: usize) -> Cursor<'a> {
        self.postgres = Some(state);
        self.lexer = Lexer::new(self.source, position, Dialect::Postgres);
        self
    }

    pub(super) fn dialect(&self) -> Dialect {
        if self.postgres.is_some() { Dialect::Postgres } else { Dialect::ClickHouse }
    }

    pub(super) fn is_postgres(&self) -> bool {
        self.postgres.is_some()
    }

    /// The bytes of a quoted token, by the rules of the dialect.
    pub(super) fn unquoted(&self, token: Token) -> Vec<u8> {
        match self.dialect() {
            Dialect::ClickHouse => unquote(self.text(token)),
            Dialect::Postgres => unquote_postgres(self.text(token)),
        }
    }

    /// Sets the values for `{name:Identifier}`.
    pub(super) fn with_parameters(mut self, parameters: &'a HashMap<String, String>) -> Cursor<'a> {
        self.parameters = Some(parameters);
        self
    }

    /// The token `ahead` places on, without taking it.
    pub(super) fn peek_at(&mut self, ahead: usize) -> Token {
        while self.tokens.len() <= self.index + ahead {
            let token = self.lexer.next_token();
            let token = self.identifier_parameter(token).unwrap_or(token);
            self.tokens.push(token);
        }
        self.tokens[self.index + ahead]
    }

    pub(super) fn peek(&mut self) -> Token {
        self.peek_at(0)
    }

    pub(super) fn peek_kind(&mut self) -> TokenKind {
        self.peek().kind
    }

    /// Takes the next token, whatever it is.
    pub(super) fn take(&mut self) -> Token {
        let token = self.peek();
        self.index += 1;
        token
    }

    pub(super) fn text(&self, token: Token) -> &'a [u8] {
        &self.source[token.start..token.end]
    }

    /// `{name:Identifier}` at the brace `open`, which is a name like any other: one token.
    fn identifier_parameter(&mut self, open: Token) -> Option<Token> {
        if open.kind != TokenKind::Symbol(Symbol::OpenBrace) {
            return None;
        }
        let mut lexer = Lexer::new(self.source, open.end, self.dialect());
        let name = lexer.next_token();
        let (colon, ty, close) = (lexer.next_token(), lexer.next_token(), lexer.next_token());
        let is_parameter = name.kind == TokenKind::Word
            && colon.kind == TokenKind::Symbol(Symbol::Colon)
            && self.text(ty) == b"Identifier"
            && close.kind == TokenKind::Symbol(Symbol::CloseBrace);
        if !is_parameter {
            return None;
        }
        self.lexer = lexer;
        Some(Token { kind: TokenKind::QuotedName, start: open.start, end: close.end })
    }

    /// The value of the parameter in the token of a `{name:Identifier}`; an error if it has none. Without known
    /// values the token stands for itself.
    pub(super) fn identifier_value(&self, token: Token) -> Parsed<Vec<u8>> {
        let text = self.text(token);
        let Some(parameters) = self.parameters else { return Ok(text.to_vec()) };
        let name = text.split(|&byte| byte == b':').next().unwrap_or_default();
        let name = String::from_utf8_lossy(&name[1..]).trim().to_owned();
        match parameters.get(&name) {
            Some(value) => Ok(value.clone().into_bytes()),
            None => {
                let what = format!("the query parameter `{name}` is not set; pass it as `param_{name}`");
                Err(self.failure(ParseErrorKind::UnknownParameter, token, what))
            }
        }
    }

    /// A position for [`Cursor::rewind`].
    pub(super) fn mark(&self) -> usize {
        self.index
    }

    pub(super) fn rewind(&mut self, mark: usize) {
        self.index = mark;
    }

    // Words and symbols.

    pub(super) fn is_word_at(&mut self, ahead: usize, word: &str) -> bool {
        let token = self.peek_at(ahead);
        token.kind == TokenKind::Word && self.text(token).eq_ignore_ascii_case(word.as_bytes())
    }

    /// Whether the next token is this keyword; does not add to the list of expected words.
    pub(super) fn is_word(&mut self, word: &str) -> bool {
        self.is_word_at(0, word)
    }

    pub(super) fn is_one_of_at(&mut self, ahead: usize, words: &[&str]) -> bool {
        let token = self.peek_at(ahead);
        let text = self.text(token);
        token.kind == TokenKind::Word && words.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
    }

    pub(super) fn is_one_of(&mut self, words: &[&str]) -> bool {
        self.is_one_of_at(0, words)
    }

    pub(super) fn is_symbol_at(&mut self, ahead: usize, symbol: Symbol) -> bool {
        self.peek_at(ahead).kind == TokenKind::Symbol(symbol)
    }

    pub(super) fn is_symbol(&mut self, symbol: Symbol) -> bool {
        self.is_symbol_at(0, symbol)
    }

    /// Whether the next tokens are these keywords.
    pub(super) fn is_phrase(&mut self, phrase: &str) -> bool {
        phrase.split(' ').enumerate().all(|(ahead, word)| self.is_word_at(ahead, word))
    }

    /// Takes the keywords of `phrase` (`GROUP BY`) if all of them come next.
    pub(super) fn eat(&mut self, phrase: &'static str) -> bool {
        if !self.is_phrase(phrase) {
            self.note(phrase);
            return false;
        }
        self.index += phrase.split(' ').count();
        true
    }

    pub(super) fn expect(&mut self, phrase: &'static str) -> Parsed<()> {
        if self.eat(phrase) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn eat_symbol(&mut self, symbol: Symbol) -> bool {
        let found = self.is_symbol(symbol);
        if found {
            self.index += 1;
        } else {
            self.note(symbol.quoted());
        }
        found
    }

    pub(super) fn expect_symbol(&mut self, symbol: Symbol) -> Parsed<()> {
        if self.eat_symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn eat_semicolons(&mut self) {
        while self.eat_symbol(Symbol::Semicolon) {}
    }

    pub(super) fn at_end(&mut self) -> bool {
        self.peek_kind() == TokenKind::End
    }

    /// Whether the statement has ended: at the end of the text or at a `;`.
    pub(super) fn at_statement_end(&mut self) -> bool {
        matches!(self.peek_kind(), TokenKind::End | TokenKind::Symbol(Symbol::Semicolon))
    }

    pub(super) fn expect_end(&mut self) -> Parsed<()> {
        if self.at_end() {
            return Ok(());
        }
        self.note("the end of the query");
        Err(self.unexpected())
    }

    // Lists.

    /// One or more items with commas between.
    pub(super) fn parse_list<T>(
        &mut self,
        mut parse: impl FnMut(&mut Cursor<'a>) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = vec![parse(self)?];
        while self.eat_symbol(Symbol::Comma) {
            items.push(parse(self)?);
        }
        Ok(items)
    }

    /// `(a, b, )`: any number of items; a comma may follow the last.
    pub(super) fn parse_parenthesized<T>(
        &mut self,
        mut parse: impl FnMut(&mut Cursor<'a>) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.expect_symbol(Symbol::OpenParen)?;
        let mut items = Vec::new();
        while !self.eat_symbol(Symbol::CloseParen) {
            items.push(parse(self)?);
            if !self.eat_symbol(Symbol::Comma) {
                self.expect_symbol(Symbol::CloseParen)?;
                break;
            }
        }
        Ok(items)
    }

    // Raw text.

    /// The words up to the end of the statement, a comma or a stop word, outside of brackets.
    pub(super) fn take_words(&mut self, stop_words: &[&str]) -> Parsed<String> {
        let mut words: Vec<String> = Vec::new();
        let mut open_count = 0_usize;
        loop {
            let token = self.peek();
            match token.kind {
                TokenKind::Symbol(Symbol::OpenParen) => open_count += 1,
                TokenKind::Symbol(Symbol::CloseParen) if open_count > 0 => open_count -= 1,
                TokenKind::End | TokenKind::Symbol(Symbol::Semicolon) => break,
                TokenKind::Symbol(Symbol::Comma | Symbol::CloseParen) if open_count == 0 => break,
                TokenKind::Word if open_count == 0 && self.is_one_of(stop_words) => break,
                TokenKind::Fault(_) => return Err(self.unexpected()),
                _ => {}
            }
            let text = self.text(token);
            words.push(self.utf8(text.to_vec(), token, "the clause")?);
            self.index += 1;
        }
        Ok(words.join(" "))
    }

    /// The byte at which the next token starts.
    pub(super) fn offset(&mut self) -> usize {
        self.peek().start
    }

    /// The byte after the last token taken.
    pub(super) fn end_of_last(&self) -> usize {
        self.index.checked_sub(1).and_then(|index| self.tokens.get(index)).map_or(0, |token| token.end)
    }

    pub(super) fn source(&self) -> &'a [u8] {
        self.source
    }

    /// Continues after `position` and drops the tokens read beyond it.
    pub(super) fn jump(&mut self, position: usize) {
        self.tokens.truncate(self.index);
        self.lexer = Lexer::new(self.source, position.min(self.source.len()), self.dialect());
    }

    /// `bytes` as text; `what` names it in the failure.
    pub(super) fn utf8(&self, bytes: Vec<u8>, token: Token, what: &str) -> Parsed<String> {
        String::from_utf8(bytes)
            .map_err(|_| self.failure(ParseErrorKind::Value, token, format!("{what} must be valid UTF-8")))
    }

    // Limits.

    /// Runs `parse` one level deeper.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Cursor<'a>) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= NESTING_MAX {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let reach_before = std::mem::replace(&mut self.reach, self.depth * NESTED_HEIGHT);
        let parsed = parse(self);
        self.reach = self.reach.max(reach_before);
        self.depth -= 1;
        parsed
    }

    /// Notes that the node parsed at this level becomes a child of a new node.
    pub(super) fn wrap(&mut self) -> Parsed<()> {
        self.wrap_by(NESTED_HEIGHT)
    }

    /// Like [`Cursor::wrap`], for an operator of a list: `a AND b AND c` may be long, and is printed by a loop.
    pub(super) fn wrap_list(&mut self) -> Parsed<()> {
        self.wrap_by(1)
    }

    fn wrap_by(&mut self, height: usize) -> Parsed<()> {
        self.reach += height;
        if self.reach > HEIGHT_MAX { Err(self.too_deep()) } else { Ok(()) }
    }

    // Failures.

    /// Remembers that `what` would have fitted here.
    pub(super) fn note(&mut self, what: &'static str) {
        if self.expected_at != self.index {
            self.expected.clear();
            self.expected_at = self.index;
        }
        self.expected.push(what);
    }

    /// A failure: the next token does not fit the grammar.
    pub(super) fn unexpected(&mut self) -> Box<Failure> {
        let token = self.peek();
        if let TokenKind::Fault(fault) = token.kind {
            return self.failure(ParseErrorKind::Syntax, token, fault.message());
        }
        let mut failure = self.failure(ParseErrorKind::Syntax, token, "");
        if self.expected_at == self.index {
            failure.expected = self.expected.clone();
        }
        failure
    }

    /// A failure: the next token fits the grammar, but its value is wrong.
    pub(super) fn refuse(&mut self, message: impl Into<String>) -> Box<Failure> {
        let token = self.peek();
        self.failure(ParseErrorKind::Syntax, token, message)
    }

    /// A failure: `what` is in ClickHouse's grammar, but the tree cannot represent it.
    pub(super) fn not_implemented(&mut self, what: impl Into<String>) -> Box<Failure> {
        let token = self.peek();
        self.failure(ParseErrorKind::NotImplemented, token, what)
    }

    fn too_deep(&mut self) -> Box<Failure> {
        let token = self.peek();
        self.failure(ParseErrorKind::TooDeep, token, "the query nests too deep; split it into several")
    }

    pub(super) fn failure(
        &self,
        kind: ParseErrorKind,
        token: Token,
        message: impl Into<String>,
    ) -> Box<Failure> {
        let message = message.into();
        Box::new(Failure { kind, offset: token.start, end: token.end, message, expected: Vec::new() })
    }
}
