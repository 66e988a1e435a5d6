//! What can be measured, each a verb of the command line.

use std::fs::File;
use std::path::Path;
use std::time::Instant;

use crate::arguments::Arguments;
use crate::file::{Asked, Records};
use crate::histogram::Histogram;
use crate::store::{RecordStore, Result, open};
use crate::threads::{Done, Until, Work, run as run_threads};

/// Names and numbers.
pub(crate) type Figures = Vec<(String, f64)>;

pub(crate) fn run(arguments: &Arguments) -> Result<Figures> {
    match arguments.verb.as_str() {
        "load" => load(arguments),
        "mix" => mix(arguments),
        "write" => write(arguments),
        "scan" => scan(arguments),
        other => Err(format!("there is no verb `{other}`; there are load, mix, write and scan").into()),
    }
}

/// Fills an empty store with the file.
fn load(arguments: &Arguments) -> Result<Figures> {
    join_group(arguments)?;
    let store = open(arguments)?;
    let started = Instant::now();
    let count = store.load(&mut Records::open(&arguments.file, arguments.key_columns)?)?;
    Ok(vec![figure("seconds", started.elapsed().as_secs_f64()), figure("records", count as f64)])
}

/// Reads by chance, and writes if `--reads-percent` is below 100, for a time.
fn mix(arguments: &Arguments) -> Result<Figures> {
    let asked = Asked::read(&arguments.file, arguments.key_columns)?;
    let store = open_warm(arguments)?;
    let warm = work(arguments, 100, Until::Seconds(arguments.warm_seconds), 1);
    run_threads(store.as_ref(), &asked, warm)?;
    let measured = work(arguments, arguments.reads_percent, Until::Seconds(arguments.seconds), 2);
    Ok(done(&run_threads(store.as_ref(), &asked, measured)?))
}

/// Writes a number of records.
fn write(arguments: &Arguments) -> Result<Figures> {
    let asked = Asked::read(&arguments.file, arguments.key_columns)?;
    let store = open_warm(arguments)?;
    let measured = work(arguments, 0, Until::Operations(arguments.writes), 3 + arguments.threads as u64);
    Ok(done(&run_threads(store.as_ref(), &asked, measured)?))
}

/// Reads everything in order.
fn scan(arguments: &Arguments) -> Result<Figures> {
    let store = open_warm(arguments)?;
    let started = Instant::now();
    let scanned = store.scan()?;
    Ok(vec![
        figure("seconds", started.elapsed().as_secs_f64()),
        figure("records", scanned.records as f64),
        figure("bytes", scanned.bytes as f64),
    ])
}

/// Opens the store after its files were read once, with no more memory than the group has. What the process has in
/// memory before, such as the keys to ask for, is not counted in the group.
fn open_warm(arguments: &Arguments) -> Result<Box<dyn RecordStore>> {
    join_group(arguments)?;
    read_files(&arguments.directory)?;
    open(arguments)
}

fn join_group(arguments: &Arguments) -> Result<()> {
    match &arguments.group {
        Some(group) => Ok(std::fs::write(group.join("cgroup.procs"), std::process::id().to_string())?),
        None => Ok(()),
    }
}

fn read_files(directory: &Path) -> Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            read_files(&path)?;
        } else {
            std::io::copy(&mut File::open(&path)?, &mut Sink)?;
        }
    }
    Ok(())
}

/// Takes bytes in, so that they have to be read.
struct Sink;

impl std::io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(std::hint::black_box(bytes).len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn work(arguments: &Arguments, reads_percent: u64, until: Until, seed: u64) -> Work {
    Work { threads: arguments.threads, reads_percent, until, seed }
}

fn done(done: &Done) -> Figures {
    let mut figures = vec![
        figure("seconds", done.seconds),
        figure("bytes", done.bytes as f64),
        figure("missing", done.missing as f64),
    ];
    for (name, durations) in [("reads", &done.reads), ("writes", &done.writes)] {
        figures.extend(quantiles(name, durations));
    }
    figures
}

fn quantiles(name: &str, durations: &Histogram) -> Figures {
    let named = |what: &str, value| (format!("{name}_{what}"), value);
    vec![
        named("count", durations.count() as f64),
        named("average_us", durations.average_us()),
        named("median_us", durations.quantile_us(0.5)),
        named("p99_us", durations.quantile_us(0.99)),
        named("p999_us", durations.quantile_us(0.999)),
    ]
}

fn figure(name: &str, value: f64) -> (String, f64) {
    (name.to_owned(), value)
}
