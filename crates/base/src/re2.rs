//! Translates regular expressions from RE2's syntax, which SQL uses, to that of the `regex` crate.
//!
//! The two syntaxes are nearly the same. What only one of them has, or they read differently, is rewritten:
//!
//! - `\d`, `\w`, `\s`, `\b` and their negations are ASCII only, and `\s` does not match a vertical tab.
//! - `[`, `&&`, `--` and `~~` in brackets are literal.
//! - A `{` that does not begin `{2}`, `{2,}` or `{2,3}` is literal, as is everything between `\Q` and `\E`; `\<` is
//!   `<`.
//! - `\C` is any byte, `\101` a character by its octal number, `\p{^Greek}` is `\P{Greek}`.
//!
//! A byte that is not UTF-8 matches itself, except in brackets; RE2 refuses it.

use crate::{Error, ErrorCode, Result, bail};

const DIGITS: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACES: &str = "\\t\\n\\x0C\\r ";

/// The names that `[:name:]` and `[:^name:]` accept.
const POSIX_CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];
/// Bytes of the longest UTF-8 character.
const CHARACTER_BYTES_MAX: usize = 4;
const OCTAL_DIGITS_MAX: usize = 3;

/// `pattern` in the syntax of `regex::bytes` with Unicode on. Fails on syntax that neither knows, here or in
/// `regex`.
pub fn to_regex_syntax(pattern: &[u8]) -> Result<String> {
    let mut writer = Writer { rest: pattern, out: String::with_capacity(pattern.len() + 16) };
    while let Some(symbol) = writer.next() {
        match symbol {
            Symbol::Byte(byte) => writer.out.push_str(&format!("(?-u:\\x{byte:02x})")),
            Symbol::Character('\\') => writer.write_escape()?,
            Symbol::Character('[') => writer.write_brackets()?,
            Symbol::Character('{') if !begins_count(writer.rest) => writer.out.push_str("\\{"),
            Symbol::Character('(') => {
                check_flags(writer.rest)?;
                writer.out.push('(');
            }
            Symbol::Character(other) => writer.out.push(other),
        }
    }
    Ok(writer.out)
}

struct Writer<'a> {
    rest: &'a [u8],
    out: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Symbol {
    Character(char),
    /// A byte that is not UTF-8.
    Byte(u8),
}

impl Writer<'_> {
    fn next(&mut self) -> Option<Symbol> {
        let head = &self.rest[..self.rest.len().min(CHARACTER_BYTES_MAX)];
        let chunk = head.utf8_chunks().next()?;
        let (symbol, bytes) = match chunk.valid().chars().next() {
            Some(character) => (Symbol::Character(character), character.len_utf8()),
            None => (Symbol::Byte(head[0]), 1),
        };
        self.rest = &self.rest[bytes..];
        Some(symbol)
    }

    /// Consumes `text` if it is next.
    fn take(&mut self, text: &[u8]) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Translates what follows a backslash outside brackets.
    fn write_escape(&mut self) -> Result<()> {
        let escaped = self.escaped()?;
        match escaped {
            'b' | 'B' => self.out.push_str(&format!("(?-u:\\{escaped})")),
            'A' | 'z' => self.out.extend(['\\', escaped]),
            'C' => self.out.push_str("(?s-u:.)"),
            'Q' => self.write_quoted()?,
            other => {
                if !self.write_class(other)? {
                    let character = self.character(other)?;
                    self.write_literal(character);
                }
            }
        }
        Ok(())
    }

    /// The character after a backslash.
    fn escaped(&mut self) -> Result<char> {
        match self.next() {
            Some(Symbol::Character(character)) => Ok(character),
            Some(Symbol::Byte(byte)) => {
                Err(wrong(format!("a backslash stands before the byte 0x{byte:02x}")))
            }
            None => Err(wrong("a backslash stands at the end")),
        }
    }

    /// Translates a one-letter class such as `\d`; `false` if `letter` is none.
    fn write_class(&mut self, letter: char) -> Result<bool> {
        let (negation, members) = match letter {
            'd' => ("", DIGITS),
            'D' => ("^", DIGITS),
            'w' => ("", WORD),
            'W' => ("^", WORD),
            's' => ("", SPACES),
            'S' => ("^", SPACES),
            'p' | 'P' => return self.write_property(letter).map(|()| true),
            _ => return Ok(false),
        };
        self.out.push_str(&format!("[{negation}{members}]"));
        Ok(true)
    }

    /// `\pN`, `\p{Greek}`, `\p{^Greek}`.
    fn write_property(&mut self, letter: char) -> Result<()> {
        let is_braced = self.take(b"{");
        let letter = match (letter, is_braced && self.take(b"^")) {
            (letter, false) => letter,
            ('p', true) => 'P',
            (_, true) => 'p',
        };
        let name = if is_braced { self.braced()? } else { self.escaped()?.to_string() };
        self.out.push_str(&format!("\\{letter}{{{name}}}"));
        Ok(())
    }

    /// Consumes the text up to a `}`, and the brace.
    fn braced(&mut self) -> Result<String> {
        let end = self.rest.iter().position(|&byte| byte == b'}');
        let Some((text, rest)) = end.map(|end| (&self.rest[..end], &self.rest[end + 1..])) else {
            return Err(wrong("a `{` after an escape sequence has no `}`"));
        };
        self.rest = rest;
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    fn write_quoted(&mut self) -> Result<()> {
        while !self.take(b"\\E") {
            match self.next() {
                Some(Symbol::Character(character)) => self.write_literal(character),
                Some(Symbol::Byte(byte)) => self.out.push_str(&format!("(?-u:\\x{byte:02x})")),
                None => break,
            }
        }
        Ok(())
    }

    fn write_literal(&mut self, character: char) {
        if "\\.+*?()|[]{}^$#&-~".contains(character) {
            self.out.push('\\');
        }
        self.out.push(character);
    }

    /// The character of an escape sequence whose first character after the backslash is `escaped`.
    fn character(&mut self, escaped: char) -> Result<char> {
        Ok(match escaped {
            'a' => '\x07',
            'f' => '\x0c',
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'v' => '\x0b',
            'x' => return self.hexadecimal(),
            '0'..='7' => return self.octal(escaped),
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => other,
            other => return Err(wrong(format!("`\\{other}` is no escape sequence"))),
        })
    }

    /// `\x7F` or `\x{10FFFF}`.
    fn hexadecimal(&mut self) -> Result<char> {
        let (digits, least) = if self.take(b"{") {
            (self.braced()?, 1)
        } else {
            let (digits, rest) = self.rest.split_at(self.rest.len().min(2));
            self.rest = rest;
            (String::from_utf8_lossy(digits).into_owned(), 2)
        };
        let is_number = digits.len() >= least && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = is_number.then(|| u32::from_str_radix(&digits, 16).ok()).flatten();
        let character = number.and_then(char::from_u32);
        character.ok_or_else(|| wrong(format!("`\\x` and `{digits}` are no character")))
    }

    /// `\0`, `\07` or `\101`. A single digit other than 0 would be a back reference.
    fn octal(&mut self, first: char) -> Result<char> {
        let mut number = u32::from(first) - u32::from('0');
        let more =
            self.rest.iter().take(OCTAL_DIGITS_MAX - 1).take_while(|digit| matches!(digit, b'0'..=b'7'));
        let (digits, rest) = self.rest.split_at(more.count());
        if digits.is_empty() && first != '0' {
            return Err(wrong(format!("`\\{first}`: the text of a group cannot be looked for")));
        }
        self.rest = rest;
        digits.iter().for_each(|digit| number = number * 8 + u32::from(digit - b'0'));
        char::from_u32(number).ok_or_else(|| Error::logical("three octal digits are a character"))
    }

    /// Translates what follows a `[`, up to its `]`.
    fn write_brackets(&mut self) -> Result<()> {
        self.out.push('[');
        if self.take(b"^") {
            self.out.push('^');
        }
        let mut is_first = true;
        loop {
            let Some(symbol) = self.next() else { return Err(wrong("a `[` has no `]`")) };
            if symbol == Symbol::Character(']') && !is_first {
                self.out.push(']');
                return Ok(());
            }
            is_first = false;
            self.write_member(symbol)?;
        }
    }

    /// Translates a class, a character or a range in brackets that begins with `first`.
    fn write_member(&mut self, first: Symbol) -> Result<()> {
        if first == Symbol::Character('[') && self.write_posix_class()? {
            return Ok(());
        }
        let low = if first == Symbol::Character('\\') {
            let escaped = self.escaped()?;
            if self.write_class(escaped)? {
                return Ok(());
            }
            self.character(escaped)?
        } else {
            in_brackets(first)?
        };
        self.write_literal(low);
        let is_range = self.rest.first() == Some(&b'-') && self.rest.get(1).is_some_and(|&byte| byte != b']');
        if is_range && self.take(b"-") {
            let high = match self.next() {
                Some(Symbol::Character('\\')) => {
                    let escaped = self.escaped()?;
                    self.character(escaped)?
                }
                Some(symbol) => in_brackets(symbol)?,
                None => return Err(wrong("a `[` has no `]`")),
            };
            self.out.push('-');
            self.write_literal(high);
        }
        Ok(())
    }

    /// Translates `[:alpha:]` after its first bracket; `false` if it is something else.
    fn write_posix_class(&mut self) -> Result<bool> {
        let Some(inner) = self.rest.strip_prefix(b":") else { return Ok(false) };
        let Some(end) = inner.windows(2).position(|pair| pair == b":]") else { return Ok(false) };
        let name = String::from_utf8_lossy(&inner[..end]).into_owned();
        if !POSIX_CLASSES.contains(&name.trim_start_matches('^')) {
            return Err(wrong(format!("`[:{name}:]` is no class of characters")));
        }
        self.rest = &inner[end + 2..];
        self.out.push_str(&format!("[:{name}:]"));
        Ok(true)
    }
}

fn in_brackets(symbol: Symbol) -> Result<char> {
    match symbol {
        Symbol::Character(character) => Ok(character),
        Symbol::Byte(byte) => {
            Err(wrong(format!("the byte 0x{byte:02x}, which is no UTF-8, stands in brackets")))
        }
    }
}

/// Whether the text after a `{` completes `{2}`, `{2,}` or `{2,3}`.
fn begins_count(rest: &[u8]) -> bool {
    let Some(end) = rest.iter().position(|&byte| byte == b'}') else { return false };
    let mut numbers = rest[..end].splitn(2, |&byte| byte == b',');
    let is_number = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    let least = numbers.next().unwrap_or_default();
    !least.is_empty() && is_number(least) && numbers.next().is_none_or(is_number)
}

/// Refuses flags of a group that RE2 does not have.
fn check_flags(rest: &[u8]) -> Result<()> {
    let Some(flags) = rest.strip_prefix(b"?").filter(|flags| !flags.starts_with(b"P")) else {
        return Ok(());
    };
    let mut letters = flags.iter().take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'-');
    if let Some(&unknown) = letters.find(|letter| !b"imsU-".contains(letter)) {
        bail!(CannotCompileRegexp, "flags of a group are i, m, s and U, not `{}`", unknown as char);
    }
    Ok(())
}

fn wrong(what: impl Into<String>) -> Error {
    Error::new(ErrorCode::CannotCompileRegexp, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, expected: &str) {
        assert_eq!(to_regex_syntax(pattern.as_bytes()).expect("an expression"), expected, "{pattern}");
    }

    #[test]
    fn classes_are_of_ascii() {
        check("\\d+\\D", "[0-9]+[^0-9]");
        check("\\bx\\B", "(?-u:\\b)x(?-u:\\B)");
        check("[\\w.-]", "[[0-9A-Za-z_]\\.\\-]");
        check("[^\\S]", "[^[^\\t\\n\\x0C\\r ]]");
    }

    #[test]
    fn what_is_no_operator_is_itself() {
        check("a{2,3}b{c}d{,2}{", "a{2,3}b\\{c}d\\{,2}\\{");
        check("[a&&b[]", "[a\\&\\&b\\[]");
        check("[]a]", "[\\]a]");
        check("[a--b]", "[a-\\-b]");
        check("\\Qa.b*\\E+", "a\\.b\\*+");
        check("\\<\\_\\/", "<_/");
    }

    #[test]
    fn characters_may_be_numbers() {
        check("\\101\\0\\x41\\x{1F600}", "A\0A\u{1f600}");
        check("[\\x30-\\x39]", "[0-9]");
        check("\\pL\\p{^Greek}\\P{^Greek}", "\\p{L}\\P{Greek}\\p{Greek}");
        check("[[:^alpha:][:digit:]]", "[[:^alpha:][:digit:]]");
    }

    #[test]
    fn a_byte_stands_for_itself() {
        assert_eq!(to_regex_syntax(b"a\xff\xc3\xa9").expect("an expression"), "a(?-u:\\xff)\u{e9}");
        assert!(to_regex_syntax(b"[a\xff]").is_err());
    }

    #[test]
    fn what_re2_refuses_is_refused() {
        for pattern in
            ["\\", "\\q", "\\1", "\\x4", "\\x{110000}", "\\p{Greek", "[a", "[[:none:]]", "(?x)a", "(?i-u:a)"]
        {
            let error = to_regex_syntax(pattern.as_bytes()).err().map(|error| error.code());
            assert_eq!(error, Some(ErrorCode::CannotCompileRegexp), "{pattern}");
        }
    }
}
