//! A line of input: statements, or one of the shell's own commands.

/// The output of `help`.
pub(super) const HELP: &str = "\
Statements end with `;`. With `\\G` instead of it the answer is written one value a line.
  \\d          tables of this database       \\d NAME    columns of a table
  \\l          databases                     \\c NAME    go to a database
  help, \\?    this text                     exit, quit, \\q, Ctrl-D    leave
Ctrl-C ends the statement that runs, or clears the line. Tab completes names.";

/// The parsed input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entered {
    Nothing,
    Leave,
    Help,
    Statements { text: String, vertical: bool },
}

pub(super) fn read(entry: &str) -> Entered {
    let entry = entry.trim();
    let bare = entry.trim_end_matches(';').trim_end();
    if bare.is_empty() {
        return Entered::Nothing;
    }
    match bare.to_ascii_lowercase().as_str() {
        "exit" | "quit" | "logout" | ":q" | "\\q" => return Entered::Leave,
        "help" | "?" | "\\?" | "\\h" => return Entered::Help,
        _ => {}
    }
    if let Some(text) = shorthand(bare) {
        return Entered::Statements { text, vertical: false };
    }
    match entry.strip_suffix("\\G") {
        Some(text) => Entered::Statements { text: text.to_owned(), vertical: true },
        None => Entered::Statements { text: entry.to_owned(), vertical: false },
    }
}

/// Whether `entry` is complete without a `;`.
pub(super) fn is_command(entry: &str) -> bool {
    let entry = entry.trim();
    matches!(read(entry), Entered::Nothing | Entered::Leave | Entered::Help) || shorthand(entry).is_some()
}

/// The statement for a backslash command.
fn shorthand(text: &str) -> Option<String> {
    let (command, name) = match text.split_once(char::is_whitespace) {
        Some((command, name)) => (command, name.trim()),
        None => (text, ""),
    };
    match (command, name) {
        ("\\d", "") => Some("SHOW TABLES".to_owned()),
        ("\\d", name) => Some(format!("DESCRIBE TABLE {name}")),
        ("\\l", "") => Some("SHOW DATABASES".to_owned()),
        ("\\c", name) if !name.is_empty() => Some(format!("USE {name}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entry: &str, text: &str, vertical: bool) {
        assert_eq!(read(entry), Entered::Statements { text: text.to_owned(), vertical }, "{entry}");
    }

    #[test]
    fn leaving_and_helping_need_no_semicolon() {
        assert_eq!(read("exit"), Entered::Leave);
        assert_eq!(read(" QUIT; "), Entered::Leave);
        assert_eq!(read("help"), Entered::Help);
        assert_eq!(read(" ; "), Entered::Nothing);
        assert!(is_command("\\d") && is_command("\\d orders") && !is_command("SELECT 1"));
    }

    #[test]
    fn shorthands_stand_for_statements() {
        check("\\d", "SHOW TABLES", false);
        check("\\d shop.orders", "DESCRIBE TABLE shop.orders", false);
        check("\\c shop;", "USE shop", false);
    }

    #[test]
    fn backslash_g_asks_for_one_value_a_line() {
        check("SELECT 1\\G", "SELECT 1", true);
        check("SELECT 1;", "SELECT 1;", false);
    }
}
