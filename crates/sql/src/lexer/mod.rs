//! From bytes to tokens: words, quoted names, strings, numbers and symbols, each with its position.
//!
//! No word is reserved here: the parser decides whether `date` is a name or the start of a literal. A token borrows
//! nothing; its text is the source between its two offsets.

mod number;
mod quoted;
mod token;

pub(crate) use number::number_end;
pub(crate) use quoted::{heredoc_body, unquote, unquote_postgres};
pub(crate) use token::{LexFault, Symbol, Token, TokenKind};

use crate::dialect::Dialect;

/// Reads one token after another from a text, on demand.
#[derive(Debug)]
pub(crate) struct Lexer<'a> {
    source: &'a [u8],
    position: usize,
    dialect: Dialect,
    /// The previous token, which decides whether `.1` is a number or an access to a tuple.
    previous: Option<TokenKind>,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(source: &'a [u8], position: usize, dialect: Dialect) -> Lexer<'a> {
        Lexer { source, position, dialect, previous: None }
    }

    /// The next token; always `End` once the text is used up.
    pub(crate) fn next_token(&mut self) -> Token {
        let last_end = self.position;
        let fault = self.skip_blanks();
        let start = self.position;
        // `SELECT .5` is a number: a point that takes an element immediately follows its operand.
        if start != last_end && self.previous != Some(TokenKind::Symbol(Symbol::Dot)) {
            self.previous = None;
        }
        let kind = match fault {
            Some(fault) => {
                self.position = self.source.len();
                TokenKind::Fault(fault)
            }
            None => self.scan(),
        };
        self.previous = Some(kind);
        Token { kind, start, end: self.position }
    }

    fn at(&self, offset: usize) -> Option<u8> {
        self.source.get(self.position + offset).copied()
    }

    /// Skips white space and comments; block comments nest.
    fn skip_blanks(&mut self) -> Option<LexFault> {
        loop {
            match (self.at(0), self.at(1)) {
                (Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c), _) => self.position += 1,
                // A no-break space and the byte order mark, as editors and web pages leave them.
                (Some(0xc2), Some(0xa0)) => self.position += 2,
                (Some(0xef), Some(0xbb)) if self.at(2) == Some(0xbf) => self.position += 3,
                (Some(b'-'), Some(b'-')) | (Some(b'#'), Some(b'!' | b' ')) => self.skip_line(),
                (Some(b'/'), Some(b'*')) => {
                    if !self.skip_block_comment() {
                        return Some(LexFault::UnclosedComment);
                    }
                }
                _ => return None,
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.source[self.position..];
        self.position += memchr::memchr(b'\n', rest).map_or(rest.len(), |length| length + 1);
    }

    /// Whether the comment has an end; if not, the position stays at its start.
    fn skip_block_comment(&mut self) -> bool {
        let mut depth = 0_usize;
        let mut position = self.position;
        while let Some(length) = memchr::memchr2(b'/', b'*', &self.source[position..]) {
            position += length;
            match self.source.get(position..position + 2) {
                Some(b"/*") => depth += 1,
                Some(b"*/") => depth -= 1,
                _ => {
                    position += 1;
                    continue;
                }
            }
            position += 2;
            if depth == 0 {
                self.position = position;
                return true;
            }
        }
        false
    }

    fn scan(&mut self) -> TokenKind {
        let Some(first) = self.at(0) else {
            return TokenKind::End;
        };
        match first {
            b'\'' => self.scan_quoted(self.quoted_end(first), TokenKind::String),
            b'"' | b'`' => self.scan_quoted(self.quoted_end(first), TokenKind::QuotedName),
            b'E' | b'e' if self.dialect == Dialect::Postgres && self.at(1) == Some(b'\'') => {
                let end = quoted::quoted_end(self.source, self.position + 1, b'\'');
                self.scan_quoted(end, TokenKind::String)
            }
            b'0'..=b'9' => self.scan_number(),
            b'.' if self.at(1).is_some_and(|byte| byte.is_ascii_digit()) && !self.follows_operand() => {
                self.scan_number()
            }
            b'$' if quoted::heredoc_tag(&self.source[self.position..]).is_some() => self.scan_heredoc(),
            _ if is_word_byte(first) => self.scan_word(),
            _ => self.scan_symbol(),
        }
    }

    /// Whether a point here takes an element of the operand before it.
    fn follows_operand(&self) -> bool {
        matches!(
            self.previous,
            Some(
                TokenKind::Word
                    | TokenKind::QuotedName
                    | TokenKind::Number
                    | TokenKind::Symbol(
                        Symbol::CloseParen | Symbol::CloseBracket | Symbol::CloseBrace | Symbol::Dot
                    )
            )
        )
    }

    /// `end` is where the quoted text ends, if it does.
    fn scan_quoted(&mut self, end: Option<usize>, kind: TokenKind) -> TokenKind {
        match end {
            Some(end) => {
                self.position = end;
                kind
            }
            None => {
                self.position = self.source.len();
                TokenKind::Fault(LexFault::UnclosedQuote)
            }
        }
    }

    /// The end of a text in quotes, by the rules of the dialect.
    fn quoted_end(&self, quote: u8) -> Option<usize> {
        match (self.dialect, quote) {
            // Postgres undoes no backslash but in E'..'; names in backticks are ClickHouse's.
            (Dialect::Postgres, b'\'' | b'"') => quoted::plain_end(self.source, self.position, quote),
            _ => quoted::quoted_end(self.source, self.position, quote),
        }
    }

    fn scan_heredoc(&mut self) -> TokenKind {
        match quoted::heredoc_end(self.source, self.position) {
            Some(end) => {
                self.position = end;
                TokenKind::Heredoc
            }
            None => self.scan_word(),
        }
    }

    fn scan_number(&mut self) -> TokenKind {
        // In `t.1.2` each index is a token of its own.
        let after_dot = self.previous == Some(TokenKind::Symbol(Symbol::Dot));
        if after_dot {
            let digits = self.source[self.position..].iter().take_while(|byte| byte.is_ascii_digit());
            self.position += digits.count();
            return TokenKind::Number;
        }
        let end = number_end(self.source, self.position);
        if self.source.get(end).is_some_and(|&byte| is_word_byte(byte)) {
            // `2fast`: a name may start with digits, a number may not end in letters.
            let digits = self.source[self.position..end].iter().all(u8::is_ascii_alphanumeric);
            self.scan_word();
            return if digits { TokenKind::Word } else { TokenKind::Fault(LexFault::BadNumber) };
        }
        self.position = end;
        TokenKind::Number
    }

    fn scan_word(&mut self) -> TokenKind {
        let rest = &self.source[self.position..];
        let length = rest.iter().take_while(|&&byte| is_word_byte(byte)).count();
        self.position += length.max(1);
        TokenKind::Word
    }

    fn scan_symbol(&mut self) -> TokenKind {
        match token::symbol_at(&self.source[self.position..]) {
            Some((symbol, length)) if self.dialect == Dialect::Postgres || !symbol.is_postgres() => {
                self.position += length;
                TokenKind::Symbol(symbol)
            }
            _ => {
                self.position += 1;
                TokenKind::Fault(LexFault::UnknownByte)
            }
        }
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &[(&str, TokenKind)]) {
        let mut lexer = Lexer::new(source.as_bytes(), 0, Dialect::ClickHouse);
        let mut found = Vec::new();
        loop {
            let token = lexer.next_token();
            if token.kind == TokenKind::End {
                break;
            }
            found.push((&source[token.start..token.end], token.kind));
        }
        assert_eq!(found, expected, "{source}");
    }

    const WORD: TokenKind = TokenKind::Word;
    const NUMBER: TokenKind = TokenKind::Number;
    const DOT: TokenKind = TokenKind::Symbol(Symbol::Dot);

    #[test]
    fn numbers_take_bases_exponents_and_underscores() {
        for number in ["1e5", "1E-5", "0x1F", "0b101", "1_000", ".5", "1.", "1.5e+3", "1000000."] {
            check(number, &[(number, NUMBER)]);
        }
        check("1a", &[("1a", WORD)]);
    }

    #[test]
    fn points_after_an_operand_take_elements() {
        check("t.1.2", &[("t", WORD), (".", DOT), ("1", NUMBER), (".", DOT), ("2", NUMBER)]);
        let close = (")", TokenKind::Symbol(Symbol::CloseParen));
        check("a .5", &[("a", WORD), (".5", NUMBER)]);
        check(").1", &[close, (".", DOT), ("1", NUMBER)]);
    }

    #[test]
    fn comments_are_blanks() {
        check("a--x\nb /* 1 /* 2 */ 3 */c # end", &[("a", WORD), ("b", WORD), ("c", WORD)]);
    }

    #[test]
    fn strings_and_names_may_hold_their_quote() {
        check(r"'it''s' 'a\'b'", &[("'it''s'", TokenKind::String), (r"'a\'b'", TokenKind::String)]);
        check("`a``b`", &[("`a``b`", TokenKind::QuotedName)]);
        check("$x$ ' $x$", &[("$x$ ' $x$", TokenKind::Heredoc)]);
    }

    #[test]
    fn what_is_left_open_is_a_fault() {
        check("'abc", &[("'abc", TokenKind::Fault(LexFault::UnclosedQuote))]);
        check("/* abc", &[("/* abc", TokenKind::Fault(LexFault::UnclosedComment))]);
    }

    #[test]
    fn longest_symbol_wins() {
        let symbols = [
            ("->", Symbol::Arrow),
            ("::", Symbol::DoubleColon),
            ("<=>", Symbol::NullSafeEqual),
            ("==", Symbol::Equal),
            ("!=", Symbol::NotEqual),
            ("<>", Symbol::NotEqual),
            ("||", Symbol::Concat),
        ];
        for (text, symbol) in symbols {
            check(text, &[(text, TokenKind::Symbol(symbol))]);
        }
    }
}
