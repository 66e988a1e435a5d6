//! The command line of `cargo xtask differ`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

const USAGE: &str = "cargo xtask differ [--seed N] [--count N] [--record FILE.slt]\n\
                     BASALT names the program; target/release/basalt is the default";

pub(crate) struct Options {
    pub(crate) seed: u64,
    /// The minimum number of statements.
    pub(crate) count: usize,
    /// A file of SQL tests, to write the statements on which both sides agree.
    pub(crate) record: Option<PathBuf>,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options { seed: 1, count: 1000, record: None };
        let mut rest = arguments.iter();
        while let Some(name) = rest.next() {
            let value = rest.next().with_context(|| format!("{name} has no value\n{USAGE}"))?;
            match name.as_str() {
                "--seed" => options.seed = value.parse().with_context(|| format!("--seed {value}"))?,
                "--count" => options.count = value.parse().with_context(|| format!("--count {value}"))?,
                "--record" => options.record = Some(value.into()),
                _ => bail!("unknown option {name}\n{USAGE}"),
            }
        }
        Ok(options)
    }

    pub(crate) fn program(&self, root: &Path) -> PathBuf {
        std::env::var_os("BASALT").map_or_else(|| root.join("target/release/basalt"), PathBuf::from)
    }
}
