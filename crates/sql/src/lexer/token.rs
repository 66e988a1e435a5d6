//! The kinds of tokens.

/// A token and its place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or a keyword without quotes.
    Word,
    /// A name in backticks or double quotes.
    QuotedName,
    /// A string in single quotes.
    String,
    /// `$tag$ .. $tag$`.
    Heredoc,
    Number,
    Symbol(Symbol),
    /// Bytes that are not a token.
    Fault(LexFault),
    End,
}

/// The reason why bytes are not a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LexFault {
    UnclosedQuote,
    UnclosedComment,
    BadNumber,
    UnknownByte,
}

impl LexFault {
    pub(crate) fn message(self) -> &'static str {
        match self {
            LexFault::UnclosedQuote => "the quote is not closed",
            LexFault::UnclosedComment => "the comment is not closed",
            LexFault::BadNumber => "a number must not end in letters",
            LexFault::UnknownByte => "this character means nothing outside of quotes",
        }
    }
}

/// Declares [`Symbol`], its text and the table that finds it, longest first.
macro_rules! symbols {
    ($($name:ident $text:literal)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Symbol { $($name),+ }

        impl Symbol {
            /// The symbol between backticks, as a message names it.
            pub(crate) fn quoted(self) -> &'static str {
                match self { $(Symbol::$name => concat!("`", $text, "`")),+ }
            }
        }

        const SYMBOLS: &[(&[u8], Symbol)] = &[$(($text.as_bytes(), Symbol::$name)),+];
    };
}

symbols! {
    NotMatchesAnyCase "!~*"
    NotMatches "!~"
    MatchesAnyCase "~*"
    Matches "~"
    Ampersand "&"
    NullSafeEqual "<=>"
    Arrow "->"
    DoubleColon "::"
    LessOrEqual "<="
    GreaterOrEqual ">="
    NotEqual "!="
    Concat "||"
    OpenParen "("
    CloseParen ")"
    OpenBracket "["
    CloseBracket "]"
    OpenBrace "{"
    CloseBrace "}"
    Comma ","
    Semicolon ";"
    Dot "."
    Colon ":"
    Question "?"
    Plus "+"
    Minus "-"
    Asterisk "*"
    Slash "/"
    Percent "%"
    Equal "="
    Less "<"
    Greater ">"
}

impl Symbol {
    /// Whether it means nothing in ClickHouse's dialect.
    pub(super) fn is_postgres(self) -> bool {
        matches!(
            self,
            Symbol::Matches
                | Symbol::MatchesAnyCase
                | Symbol::NotMatches
                | Symbol::NotMatchesAnyCase
                | Symbol::Ampersand
        )
    }
}

/// Second spellings of symbols.
const SYNONYMS: &[(&[u8], Symbol)] = &[(b"==", Symbol::Equal), (b"<>", Symbol::NotEqual)];

/// The symbol at the start of `text` and its length.
pub(super) fn symbol_at(text: &[u8]) -> Option<(Symbol, usize)> {
    // U+2212, the minus sign of word processors.
    if text.starts_with(&[0xe2, 0x88, 0x92]) {
        return Some((Symbol::Minus, 3));
    }
    let mut all = SYNONYMS.iter().chain(SYMBOLS);
    all.find(|(spelling, _)| text.starts_with(spelling)).map(|&(spelling, symbol)| (symbol, spelling.len()))
}
