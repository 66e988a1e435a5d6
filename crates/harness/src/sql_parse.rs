//! Any text is parsed or refused; what parses prints as text that parses to the same tree.

use basalt_sql::{Script, parse_codec, parse_expr, parse_statement, parse_type, resolve_type};

/// Panics if the promise is broken.
pub fn run(text: &[u8]) {
    for parsed in Script::new(text).flatten() {
        let printed = parsed.statement.to_string();
        match parse_statement(printed.as_bytes()) {
            Ok(again) => assert_eq!(again.to_string(), printed, "printing twice"),
            Err(error) => panic!("what was printed does not parse: {printed}\n{error}"),
        }
    }
    let _ = parse_expr(text);
    let _ = parse_codec(text);
    if let Ok(ty) = parse_type(text) {
        let _ = resolve_type(&ty).map(|ty| ty.to_string());
    }
}
