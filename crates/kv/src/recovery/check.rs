//! Refuses a store whose files lack acknowledged changes, and names the file.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::fs::File;
use std::path::{Path, PathBuf};

use basalt_base::{Error, FileAction, Result};

use super::acknowledged::Acknowledged;
use super::log_file::{LogScan, Tail, scan};
use super::manifest::{ManifestPlace, Recorded};
use super::unsynced;
use crate::error::damaged;

const LOG: &str = "log";
const SORTED: &str = "sst";

/// Fails if opening the store at `path` would lose acknowledged changes. Changes nothing.
pub(crate) fn check(path: &Path) -> Result<()> {
    let files = files(path)?;
    let Some(manifest) = ManifestPlace::find(path)? else {
        return match files.first() {
            Some(file) => {
                Err(damaged(&path.join("CURRENT"), &format!("it is missing, but {} exists", file.display())))
            }
            None => Ok(()),
        };
    };
    let acknowledged = Acknowledged::read(path)?;
    check_manifest(&manifest, acknowledged)?;
    let recorded = manifest.read(path)?;
    let logs = logs(files, recorded.first_log);
    let found = match unsynced::is_marked(path) {
        true => whole_changes(&logs, &recorded)?,
        false => check_logs(&logs, &recorded)?,
    };
    let expected = acknowledged.unwrap_or_default().sequence;
    if found < expected {
        let last = logs.last().map_or(&manifest.path, |(_, log)| log);
        let lost = format!("changes up to number {expected} were acknowledged, up to {found} are there");
        return Err(damaged(last, &lost));
    }
    Ok(())
}

/// Logs and sorted files.
fn files(store: &Path) -> Result<Vec<PathBuf>> {
    let list = || -> std::io::Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(store)?.map(|entry| entry.map(|entry| entry.path()));
        entries.filter(|path| path.as_ref().map_or(true, |path| is(path, LOG) || is(path, SORTED))).collect()
    };
    list().map_err(|error| Error::io(FileAction::List, store, &error))
}

fn is(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension) && number(path).is_some()
}

fn number(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

/// The logs from `first` on, in order.
fn logs(files: Vec<PathBuf>, first: u64) -> Vec<(u64, PathBuf)> {
    let logs = files.into_iter().filter(|path| is(path, LOG));
    let mut logs: Vec<(u64, PathBuf)> = logs.filter_map(|path| Some((number(&path)?, path))).collect();
    logs.retain(|&(number, _)| number >= first);
    logs.sort_unstable();
    logs
}

fn check_manifest(manifest: &ManifestPlace, acknowledged: Option<Acknowledged>) -> Result<()> {
    let found = manifest.scan()?;
    let expected = match acknowledged {
        Some(said) if said.manifest == manifest.number => said.manifest_bytes,
        Some(said) if said.manifest > manifest.number => {
            return Err(damaged(&manifest.path, &format!("MANIFEST-{:06} came after it", said.manifest)));
        }
        _ => 0,
    };
    match found.tail {
        Tail::Damaged { at } => Err(bad_record(&manifest.path, at)),
        // Without an acknowledged state, a torn record cannot be distinguished from a damaged one.
        Tail::Torn { at } if found.end < expected || acknowledged.is_none() => {
            Err(bad_record(&manifest.path, at))
        }
        _ if found.end < expected => {
            let text = format!("it is cut off after {} bytes of at least {expected}", found.end);
            Err(damaged(&manifest.path, &text))
        }
        _ => Ok(()),
    }
}

/// The sequence number of the last change in MANIFEST and logs.
fn check_logs(logs: &[(u64, PathBuf)], recorded: &Recorded) -> Result<u64> {
    let mut sequence = recorded.sequence;
    let mut torn: Option<(&Path, u64)> = None;
    for (_, path) in logs {
        let mut changes = Changes { next: sequence + 1, gap: None, count: 0 };
        let file = File::open(path).and_then(|file| scan(file, |head| changes.take(head)));
        let LogScan { tail, .. } = file.map_err(|error| Error::io(FileAction::Read, path, &error))?;
        if let (Some((path, at)), true) = (torn, changes.count > 0) {
            // Later changes exist, so this record was complete once.
            return Err(bad_record(path, at));
        }
        if let Some(gap) = changes.gap {
            return Err(damaged(path, &format!("changes before number {gap} are missing")));
        }
        match tail {
            Tail::Whole => {}
            Tail::Torn { at } => torn = Some((path.as_path(), at)),
            Tail::Damaged { at } => return Err(bad_record(path, at)),
        }
        sequence = changes.next - 1;
    }
    Ok(sequence)
}

/// Like [`check_logs`] where changes may not have been synced: a crash may have left holes in them. RocksDB drops what
/// comes after the first one.
fn whole_changes(logs: &[(u64, PathBuf)], recorded: &Recorded) -> Result<u64> {
    let mut sequence = recorded.sequence;
    for (_, path) in logs {
        let mut changes = Changes { next: sequence + 1, gap: None, count: 0 };
        let file = File::open(path).and_then(|file| scan(file, |head| changes.take_following(head)));
        let LogScan { tail, .. } = file.map_err(|error| Error::io(FileAction::Read, path, &error))?;
        sequence = changes.next - 1;
        if changes.gap.is_some() || tail != Tail::Whole {
            break;
        }
    }
    Ok(sequence)
}

fn bad_record(path: &Path, at: u64) -> Error {
    damaged(path, &format!("the record at byte {at} is not whole, or its checksum is wrong"))
}

/// The sequence numbers in a log. The MANIFEST covers all numbers that are in no log, such as those of ingested
/// files; after its last one there is no gap.
struct Changes {
    next: u64,
    gap: Option<u64>,
    count: u64,
}

impl Changes {
    /// [`Changes::take`] until there is a gap.
    fn take_following(&mut self, head: &[u8]) {
        let next = self.next;
        self.take(head);
        if self.gap.is_some() {
            self.next = next;
        }
    }

    /// `head` is the beginning of a batch: its first sequence number and its count of changes.
    fn take(&mut self, head: &[u8]) {
        let Some((first, rest)) = head.split_first_chunk() else { return };
        let Some(count) = rest.first_chunk() else { return };
        let (first, count) = (u64::from_le_bytes(*first), u64::from(u32::from_le_bytes(*count)));
        if first > self.next && self.gap.is_none() {
            self.gap = Some(first);
        }
        self.next = self.next.max(first.saturating_add(count));
        self.count += 1;
    }
}
