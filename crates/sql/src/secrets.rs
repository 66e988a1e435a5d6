//! Passwords in the arguments of table functions, hidden where a statement is shown.

use crate::dialect::Dialect;
use crate::lexer::{Lexer, Symbol, Token, TokenKind};

/// The functions with a password among their arguments.
const FUNCTIONS: [&str; 2] = ["remote", "remoteSecure"];

/// Replaces a password where the statement is shown.
const HIDDEN: &str = "'[HIDDEN]'";

/// `text` with the passwords of `remote('host', database, table, 'user', 'password')` hidden; `None` if it has none. A
/// text that does not parse is searched, too.
pub fn hide_passwords(text: &str) -> Option<String> {
    let is_near = FUNCTIONS.iter().any(|name| text.contains(name));
    let passwords = if is_near { passwords(text) } else { Vec::new() };
    if passwords.is_empty() {
        return None;
    }
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end) in passwords {
        shown.push_str(text.get(at..start)?);
        shown.push_str(HIDDEN);
        at = end;
    }
    shown.push_str(text.get(at..)?);
    Some(shown)
}

/// Where the passwords are.
fn passwords(text: &str) -> Vec<(usize, usize)> {
    let mut lexer = Lexer::new(text.as_bytes(), 0, Dialect::default());
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next_token();
        if matches!(token.kind, TokenKind::End) {
            break;
        }
        tokens.push(token);
        if matches!(token.kind, TokenKind::Fault(_)) {
            break;
        }
    }
    let calls = tokens.windows(2).enumerate().filter(|(_, pair)| {
        let name = &text.as_bytes()[pair[0].start..pair[0].end];
        pair[0].kind == TokenKind::Word
            && pair[1].kind == TokenKind::Symbol(Symbol::OpenParen)
            && FUNCTIONS.iter().any(|function| function.as_bytes() == name)
    });
    calls.filter_map(|(at, _)| password(text, &tokens[at + 2..])).collect()
}

/// The password of a call, whose arguments are at the beginning of `tokens`.
fn password(text: &str, tokens: &[Token]) -> Option<(usize, usize)> {
    let args = arguments(tokens);
    let second = args.get(1)?;
    // `database.table` or a table function is one argument, `database, table` are two.
    let is_whole = match second {
        [one] => text.get(one.start..one.end)?.contains('.'),
        _ => true,
    };
    let password = args.get(if is_whole { 3 } else { 4 })?;
    Some((password.first()?.start, password.last()?.end))
}

/// The tokens of each argument, up to the parenthesis that closes the call or to the end.
fn arguments(tokens: &[Token]) -> Vec<&[Token]> {
    let (mut args, mut depth, mut begin) = (Vec::new(), 0_usize, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Symbol(Symbol::OpenParen | Symbol::OpenBracket) => depth += 1,
            TokenKind::Symbol(Symbol::CloseParen) if depth == 0 => {
                args.push(&tokens[begin..at]);
                return args;
            }
            TokenKind::Symbol(Symbol::CloseParen | Symbol::CloseBracket) => depth = depth.saturating_sub(1),
            TokenKind::Symbol(Symbol::Comma) if depth == 0 => {
                args.push(&tokens[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    args.push(&tokens[begin..]);
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_and_nothing_else() {
        for (text, shown) in [
            ("SELECT * FROM remote('h', a.b, 'u', 'p')", "SELECT * FROM remote('h', a.b, 'u', '[HIDDEN]')"),
            (
                "SELECT * FROM remote('h', 'a.b', 'u', 'p''q')",
                "SELECT * FROM remote('h', 'a.b', 'u', '[HIDDEN]')",
            ),
            (
                "INSERT INTO FUNCTION remoteSecure('h', 'a', 'b', 'u', 'p') VALUES (1)",
                "INSERT INTO FUNCTION remoteSecure('h', 'a', 'b', 'u', '[HIDDEN]') VALUES (1)",
            ),
            (
                "SELECT 'p' FROM remote('h', numbers(1, 2), 'u', concat('p', 'q')), remote('h', a, b, 'u', 'r')",
                "SELECT 'p' FROM remote('h', numbers(1, 2), 'u', '[HIDDEN]'), remote('h', a, b, 'u', '[HIDDEN]')",
            ),
            ("remote('h', a.b, 'u', 'p' WHERE", "remote('h', a.b, 'u', '[HIDDEN]"),
        ] {
            let hidden = hide_passwords(text).unwrap();
            assert!(hidden.starts_with(shown), "{hidden}");
        }
        for text in [
            "SELECT 1",
            "SELECT * FROM remote('h', a.b, 'u')",
            "SELECT remote, 'a' FROM t",
            "remote(",
            "remote('",
        ] {
            assert_eq!(hide_passwords(text), None, "{text}");
        }
    }
}
