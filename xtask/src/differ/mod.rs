//! Runs the same random statements on Basalt and ClickHouse, and prints where their answers differ.
//!
//! A seed determines tables and statements ([`table`], [`query`]). Every group of statements has two tables. A
//! difference is an answer with other rows, or an error on one side only. Differences explained in docs/dialect.md
//! ([`explained`]) and features that Basalt does not have are counted separately.

mod compare;
mod explained;
mod expression;
mod kind;
mod nested;
mod options;
mod query;
mod random;
mod report;
mod server;
mod table;

use std::path::Path;

use anyhow::{Context, Result, bail};

use self::compare::Verdict;
use self::options::Options;
use self::query::Query;
use self::random::Random;
use self::report::Report;
use self::server::Server;
use self::table::Table;
use crate::oracle::Oracle;
use crate::slt::Answer;

/// Statements per pair of tables.
const GROUP: usize = 40;

/// Both databases, with the same tables.
struct Pair {
    clickhouse: Oracle,
    basalt: Server,
}

/// Runs `cargo xtask differ` with `arguments`; fails if there is an unexplained difference.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let mut report = Report::default();
    let mut recorded = format!("# Random statements of seed {}, on which both agreed.\n\n", options.seed);
    let mut group = 0;
    while report.asked() < options.count {
        let mut random = Random::new(options.seed.wrapping_add(group));
        let tables = [Table::make("t1", &mut random), Table::make("t2", &mut random)];
        let mut pair = Pair::open(root, &options)?;
        pair.create(&tables)?;
        recorded.extend(tables.iter().flat_map(Table::statements).map(|sql| report::statement(&sql)));
        for _ in 0..GROUP {
            let query = query::make(&tables, &mut random);
            if let Some(answer) = pair.ask(&query, &tables, &mut report)?
                && is_text(&answer)
            {
                recorded.push_str(&report::record(&query, &answer));
            }
        }
        recorded.extend(tables.iter().map(|table| report::statement(&table.drop_statement())));
        group += 1;
    }
    if let Some(path) = &options.record {
        std::fs::write(path, recorded).with_context(|| path.display().to_string())?;
    }
    report.print(options.seed);
    match report.differences() {
        0 => Ok(()),
        count => bail!("{count} answers differ"),
    }
}

impl Pair {
    fn open(root: &Path, options: &Options) -> Result<Pair> {
        let clickhouse = Oracle::start(&crate::record::python(root)?)?;
        Ok(Pair { clickhouse, basalt: Server::start(&options.program(root))? })
    }

    fn create(&mut self, tables: &[Table]) -> Result<()> {
        for statement in tables.iter().flat_map(Table::statements) {
            let expected = self.clickhouse.ask(&statement)?;
            let found = self.basalt.ask(&statement)?;
            if let Some(text) = [expected, found].iter().find_map(error_of) {
                bail!("{statement}: {text}");
            }
        }
        Ok(())
    }

    /// ClickHouse's answer, if both give the same text.
    fn ask(&mut self, query: &Query, tables: &[Table], report: &mut Report) -> Result<Option<Answer>> {
        let expected = self.clickhouse.ask(&query.sql).with_context(|| query.sql.clone())?;
        let found = self.basalt.ask(&query.sql).with_context(|| query.sql.clone())?;
        let mut verdict = compare::compare(query, &expected, &found);
        if verdict.is_difference() && explained::is_explained(query, tables, &expected, &found) {
            verdict = Verdict::Explained;
        }
        report.add(verdict, query, tables, (&expected, &found));
        Ok((verdict == Verdict::Same && compare::is_exact(query, &expected, &found)).then_some(expected))
    }
}

/// Whether an answer is completely known text.
fn is_text(answer: &Answer) -> bool {
    !matches!(answer, Answer::Rows(rows) if rows.iter().any(|row| row.contains(char::REPLACEMENT_CHARACTER)))
}

fn error_of(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::Error(text) => Some(text),
        Answer::Rows(_) => None,
    }
}
