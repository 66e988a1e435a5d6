//! Statements about users, roles, grants, row policies, quotas and profiles print as ClickHouse prints them, and what is
//! printed parses back to the same tree.

use basalt_sql::parse_statement;

/// Pairs of lines: a statement, and what `formatQuerySingleLine` of ClickHouse 26.9 makes of it.
const RECORDED: &str = include_str!("access.txt");

#[test]
fn statements_print_as_in_clickhouse() {
    let mut wrong = Vec::new();
    for pair in RECORDED.split_terminator("\n\n") {
        let Some((text, expected)) = pair.split_once('\n') else { panic!("one line alone: {pair}") };
        match parse_statement(text.as_bytes()) {
            Ok(tree) => {
                let printed = tree.to_string();
                if printed != expected {
                    wrong.push(format!("{text}\n  is    {printed}\n  wants {expected}"));
                }
                match parse_statement(printed.as_bytes()) {
                    Ok(again) if again == tree => {}
                    other => wrong.push(format!("{text}\n  printed as {printed} is {other:?}")),
                }
            }
            Err(error) => wrong.push(format!("{text}\n  {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
