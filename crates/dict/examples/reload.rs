//! Measures reloads: the peak memory of the process in addition to the old version, and how soon a dictionary in a
//! file answers.
//!
//! `cargo run --release -p basalt-dict --example reload -- 20000000 [directory [layout [type ..]]]`; files are
//! written to the directory and removed. Keys of FLAT and AUTO are dense.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arrow::array::{Array, ArrayRef, BinaryViewArray, UInt16Array, UInt64Array};
use basalt_base::fs::{RealStorage, Storage};
use basalt_base::{Column, Columns, Result, SqlType};
use basalt_dict::{
    Attribute, Dictionary, DictionarySpec, ImagePlace, LayoutKind, LayoutSpec, LoadBounds, LoadedImage,
    RowForm, build, load_image, open_image, save_image,
};

const BLOCK_ROWS: u64 = 65_536;
const DEFINITION: &str = "measured";

fn main() -> Result<()> {
    let keys = std::env::args().nth(1).and_then(|keys| keys.parse().ok()).unwrap_or(2_000_000);
    let dir = std::env::args().nth(2).map_or_else(std::env::temp_dir, PathBuf::from);
    let kinds = std::env::args().nth(3).and_then(|name| kind_of(&name));
    let kinds = kinds.map_or_else(|| vec![LayoutKind::Hashed, LayoutKind::CompactHashed], |kind| vec![kind]);
    let types = std::env::args().skip(4).map(|name| match name.as_str() {
        "UInt64" => SqlType::UInt64,
        "String" => SqlType::String,
        _ => SqlType::UInt16,
    });
    let mut types: Vec<SqlType> = types.collect();
    if types.is_empty() {
        types.push(SqlType::UInt16);
    }
    for kind in kinds {
        measure(&Measured { kind, types: types.clone(), keys }, &dir)?;
    }
    Ok(())
}

struct Measured {
    kind: LayoutKind,
    types: Vec<SqlType>,
    keys: u64,
}

fn kind_of(name: &str) -> Option<LayoutKind> {
    LayoutKind::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
}

fn measure(measured: &Measured, dir: &Path) -> Result<()> {
    let storage: Arc<dyn Storage> = Arc::new(RealStorage);
    let Measured { kind, keys, .. } = *measured;
    let (spec, blocks) = (|| measured.spec(), || measured.blocks());
    let old = build(spec(), &mut blocks())?;
    let own = old.stats().bytes_allocated as f64;
    let (peak, start) = (Peak::start(), Instant::now());
    let new = build(spec(), &mut blocks())?;
    let took = start.elapsed();
    say(kind, "in memory", peak.end() as f64 / keys as f64, own / keys as f64);
    let _ = std::io::stdout().write_all(format!("{kind:?}: in memory in {took:?}\n").as_bytes());

    drop(new);
    let spill_dir = dir.join("measured-spill");
    let path = dir.join("measured.bin");
    let place = ImagePlace { storage: &storage, path: &path, definition: DEFINITION, spill_dir: &spill_dir };
    via_file(measured, old, &place)?;

    let saved = build(spec(), &mut blocks())?;
    save_image(saved.as_ref(), DEFINITION, &[], storage.as_ref(), &path)?;
    drop(saved);
    let start = Instant::now();
    let (opened, _) = open_image(spec(), storage.as_ref(), &path, DEFINITION)?;
    let asked: ArrayRef = Arc::new(UInt64Array::from(vec![spread(7)]));
    opened.get(&[0], &[asked])?;
    let first = start.elapsed();
    opened.check()?;
    let whole = start.elapsed();
    let rate = measured.look_up(opened.as_ref())?;
    let line =
        format!("{kind:?}: first answer after {first:?}, all checked after {whole:?}, then {rate:.1} M/s\n");
    let _ = std::io::stdout().write_all(line.as_bytes());
    let (peak, start) = (Peak::start(), Instant::now());
    let new = match load_image(spec(), &mut blocks(), RowForm::Plain, &place, LoadBounds::default())? {
        LoadedImage::InMemory(dictionary) => dictionary,
        LoadedImage::InFile(pending) => pending.publish(&[])?,
    };
    say(kind, "into a file", peak.end() as f64 / keys as f64, own / keys as f64);
    new.check()?;
    let took = start.elapsed();
    let line =
        format!("{kind:?}: into a file in {took:?}, then {:.1} M/s\n", measured.look_up(new.as_ref())?);
    let _ = std::io::stdout().write_all(line.as_bytes());
    drop((opened, new));
    storage.remove_file(&path)?;
    Ok(())
}

/// Loads the successor of `old` into a file, drops `old`, and reads the new one into memory.
fn via_file(measured: &Measured, old: Arc<dyn Dictionary>, place: &ImagePlace<'_>) -> Result<()> {
    let Measured { kind, keys, .. } = *measured;
    let own = old.stats().bytes_allocated as f64;
    let before = measured.look_up(old.as_ref())?;
    let (peak, start) = (Peak::start(), Instant::now());
    let loaded =
        load_image(measured.spec(), &mut measured.blocks(), RowForm::Plain, place, LoadBounds::default())?;
    let LoadedImage::InFile(pending) = loaded else { return Ok(()) };
    let version = pending.open_unnamed()?;
    let answers = start.elapsed();
    let from_file = measured.look_up(version.dictionary().as_ref())?;
    drop(old);
    let moves = Instant::now();
    let new = version.read_into_memory()?;
    let moved = moves.elapsed();
    say(kind, "via a file", peak.end() as f64 / keys as f64, own / keys as f64);
    let line = format!(
        "{kind:?}: via a file in {answers:?} and {moved:?}; {before:.1} M/s before, {from_file:.1} in between, \
         {:.1} after, {:.1} bytes a key\n",
        measured.look_up(new.as_ref())?,
        new.stats().bytes_allocated as f64 / keys as f64
    );
    let _ = std::io::stdout().write_all(line.as_bytes());
    Ok(())
}

fn say(kind: LayoutKind, how: &str, peak: f64, own: f64) {
    let line = format!("{kind:?} {how}: reload takes {peak:.1} bytes a key more, one version {own:.1}\n");
    let _ = std::io::stdout().write_all(line.as_bytes());
}

/// Measures the peak memory of the process.
struct Peak {
    before: u64,
    most: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<()>,
}

impl Peak {
    fn start() -> Peak {
        let (most, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let watched = (Arc::clone(&most), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            while !watched.1.load(Ordering::Relaxed) {
                watched.0.fetch_max(own_bytes(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(3));
            }
        });
        Peak { before: own_bytes(), most, is_over, thread }
    }

    /// The peak, relative to the start.
    fn end(self) -> u64 {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.join();
        self.most.load(Ordering::Relaxed).saturating_sub(self.before)
    }
}

/// `RssAnon`, as Linux counts it.
fn own_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

impl Measured {
    fn spec(&self) -> DictionarySpec {
        let attribute = |(at, ty): (usize, &SqlType)| Attribute {
            name: format!("value {at}"),
            ty: ty.clone(),
            default: ty.default_array(1),
            hierarchical: false,
            injective: false,
        };
        DictionarySpec {
            key_columns: Columns::new(vec![Column::new("key", SqlType::UInt64)]),
            attributes: self.types.iter().enumerate().map(attribute).collect(),
            layout: LayoutSpec { max_array_size: self.keys, ..LayoutSpec::new(self.kind) },
            range: None,
        }
    }

    fn key(&self, row: u64) -> u64 {
        match self.kind {
            LayoutKind::Flat | LayoutKind::Auto => row,
            _ => spread(row),
        }
    }

    fn blocks(&self) -> impl Iterator<Item = Result<Vec<ArrayRef>>> {
        (0..self.keys).step_by(BLOCK_ROWS as usize).map(|first| {
            let rows = first..self.keys.min(first + BLOCK_ROWS);
            let keys: ArrayRef =
                Arc::new(UInt64Array::from_iter_values(rows.clone().map(|row| self.key(row))));
            let values = self.types.iter().map(|ty| values(ty, rows.clone()));
            Ok(std::iter::once(keys).chain(values).collect())
        })
    }

    /// Million lookups a second of random keys.
    fn look_up(&self, dictionary: &dyn Dictionary) -> Result<f64> {
        let random = |row: u64| ((u128::from(spread(!row)) * u128::from(self.keys)) >> 64) as u64;
        let block = |block: u64| {
            let rows = block * BLOCK_ROWS..(block + 1) * BLOCK_ROWS;
            Arc::new(UInt64Array::from_iter_values(rows.map(|row| self.key(random(row))))) as ArrayRef
        };
        let asked: Vec<ArrayRef> = (0..64).map(block).collect();
        let attributes: Vec<usize> = (0..self.types.len()).collect();
        let start = processor_seconds();
        let mut looked_up = 0;
        for keys in asked {
            looked_up += dictionary.get(&attributes, &[keys])?.0[0].len();
        }
        Ok(looked_up as f64 / (processor_seconds() - start) / 1e6)
    }
}

fn values(ty: &SqlType, rows: std::ops::Range<u64>) -> ArrayRef {
    match ty {
        SqlType::UInt64 => Arc::new(UInt64Array::from_iter_values(rows.map(spread))),
        SqlType::String => {
            Arc::new(BinaryViewArray::from_iter_values(rows.map(|row| format!("{:020}", spread(row)))))
        }
        _ => Arc::new(UInt16Array::from_iter_values(rows.map(|row| row as u16))),
    }
}

/// The processor time of this thread, as Linux counts it.
fn processor_seconds() -> f64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    statistics.split(' ').next().and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// A bijection, so that keys stay distinct.
fn spread(number: u64) -> u64 {
    let mixed = (number ^ (number >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
}
