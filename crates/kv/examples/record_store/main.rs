//! Measures stores of records as libraries: loading, reading one record, reading beside writing, writing, scanning.
//!
//! `record_store VERB --store rocksdb --directory D --file F --key-columns N ...`; `bench/compare --only succinct`
//! calls it. `arguments.rs` has all options, `verbs.rs` the verbs. It prints a line for each figure: name, tab, number.
//!
//! A record is a line of tab-separated values. Its first columns are the key, the others are the value, with their
//! separators and without names of columns.

mod arguments;
mod chance;
mod columns;
mod file;
mod histogram;
mod rocks;
mod store;
mod succinct;
mod threads;
mod verbs;

use std::io::Write;

use arguments::Arguments;
use store::Result;

/// The allocator of the program `basalt`. RocksDB has its own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let figures = verbs::run(&arguments)?;
    let mut out = std::io::stdout().lock();
    for (name, value) in figures {
        writeln!(out, "{name}\t{value}")?;
    }
    Ok(())
}
