//! What a dictionary says that it takes is what the process takes.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, Int32Array, UInt16Array, UInt64Array};
use basalt_base::{Column, Columns, SqlType};
use basalt_dict::{Attribute, Dictionary, DictionarySpec, LayoutKind, LayoutSpec, build};

const KEYS: u64 = 1_000_000;
const BLOCK_ROWS: u64 = 65_536;
/// Set in the process that measures.
const CHILD: &str = "BASALT_DICT_MEASURE";

/// Large allocations must go back to the system when they are freed, or what the allocator keeps would be
/// counted: glibc does so with a fixed threshold, which it reads when a process starts.
#[test]
fn bytes_allocated_is_what_the_process_takes() {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        return;
    }
    if std::env::var_os(CHILD).is_some() {
        measure_all();
        return;
    }
    let child = std::process::Command::new(std::env::current_exe().expect("a running test"))
        .args(["--exact", "bytes_allocated_is_what_the_process_takes", "--nocapture"])
        .env(CHILD, "1")
        .env("MALLOC_MMAP_THRESHOLD_", "32768")
        .output()
        .expect("the test starts again");
    let text = String::from_utf8_lossy(&child.stderr).into_owned() + &String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{text}");
}

fn measure_all() {
    let narrow = [SqlType::UInt16];
    let wide = [SqlType::UInt64, SqlType::Int32.into_nullable(), SqlType::String];
    // The first load brings code, stacks and the allocator's own tables into memory.
    let _ = check(LayoutKind::Hashed, &wide, spread);
    let mut outcomes = Vec::new();
    for kind in [LayoutKind::Hashed, LayoutKind::SparseHashed, LayoutKind::CompactHashed] {
        outcomes.push(check(kind, &narrow, spread));
        outcomes.push(check(kind, &wide, spread));
    }
    outcomes.push(check(LayoutKind::HashedArray, &wide, spread));
    outcomes.push(check(LayoutKind::Auto, &wide, spread));
    outcomes.push(check(LayoutKind::Auto, &wide, |row| row + 77));
    let wrong: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn check(kind: LayoutKind, types: &[SqlType], key: fn(u64) -> u64) -> Result<(), String> {
    let before = resident_bytes();
    let dictionary = load(kind, types, key);
    let taken = resident_bytes() - before;
    let stated = dictionary.stats().bytes_allocated;
    let ratio = stated as f64 / taken as f64;
    if (0.98..=1.02).contains(&ratio) {
        return Ok(());
    }
    Err(format!("{kind:?} of {types:?}: stated {stated}, taken {taken}"))
}

fn load(kind: LayoutKind, types: &[SqlType], key: fn(u64) -> u64) -> Arc<dyn Dictionary> {
    let attributes = types.iter().map(|ty| Attribute {
        name: ty.to_string(),
        ty: ty.clone(),
        default: ty.default_array(1),
        hierarchical: false,
        injective: false,
    });
    let spec = DictionarySpec {
        key_columns: Columns::new(vec![Column::new("key", SqlType::UInt64)]),
        attributes: attributes.collect(),
        layout: LayoutSpec::new(kind),
        range: None,
    };
    let mut blocks = (0..KEYS).step_by(BLOCK_ROWS as usize).map(|first| {
        let rows = first..KEYS.min(first + BLOCK_ROWS);
        let keys: ArrayRef = Arc::new(UInt64Array::from_iter_values(rows.clone().map(key)));
        Ok(std::iter::once(keys).chain(types.iter().map(|ty| values(ty, rows.clone()))).collect())
    });
    build(spec, &mut blocks).expect("a valid source")
}

fn values(ty: &SqlType, rows: std::ops::Range<u64>) -> ArrayRef {
    match ty {
        SqlType::UInt16 => Arc::new(UInt16Array::from_iter_values(rows.map(|row| row as u16))),
        SqlType::UInt64 => Arc::new(UInt64Array::from_iter_values(rows.map(spread))),
        SqlType::String => Arc::new(BinaryViewArray::from_iter_values(
            rows.map(|row| format!("a string that is told apart by its {}", row % 1000)),
        )),
        _ => Arc::new(rows.map(|row| (row % 3 > 0).then_some(row as i32)).collect::<Int32Array>()),
    }
}

fn spread(row: u64) -> u64 {
    row.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/smaps_rollup").expect("Linux tells");
    let line = status.lines().find(|line| line.starts_with("Rss:")).expect("it has the line");
    let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    kilobytes.expect("a number") * 1024
}
