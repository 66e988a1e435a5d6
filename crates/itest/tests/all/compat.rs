//! The server reads the data directories of earlier versions. `tests/compat/make` recorded one for each version of a
//! format. A change of a format adds the directory of its version.

use std::path::{Path, PathBuf};

use basalt_itest::program::local;
use basalt_itest::shared::checkout;
use tempfile::{TempDir, tempdir};

use crate::versions::crc32c;

/// The size of the trailer of a dictionary's file, and the distance of the version from the end of the file.
const TRAILER_BYTES: usize = 32;
const VERSION_FROM_END: usize = 12;

fn recorded(what: &str) -> PathBuf {
    checkout().join("tests/compat").join(what)
}

/// The recorded versions, in ascending order.
fn versions(what: &str) -> Vec<u32> {
    let entries = std::fs::read_dir(recorded(what)).expect("it is in the checkout");
    let names = entries.map(|entry| entry.expect("readable").file_name().into_string().expect("UTF-8"));
    let mut versions: Vec<u32> = names.filter_map(|name| name.strip_prefix('v')?.parse().ok()).collect();
    versions.sort_unstable();
    assert!(!versions.is_empty(), "nothing was recorded of {what}");
    versions
}

/// A copy of the recorded directory: opening changes it.
fn copy(what: &str, version: u32) -> TempDir {
    let dir = tempdir().expect("a directory");
    copy_files(&recorded(what).join(format!("v{version}")), dir.path());
    dir
}

fn copy_files(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("it is in the checkout") {
        let path = entry.expect("readable").path();
        let to = to.join(path.file_name().expect("of a directory"));
        if path.is_dir() {
            std::fs::create_dir(&to).expect("a new directory");
            copy_files(&path, &to);
        } else {
            std::fs::copy(&path, &to).expect("writable");
        }
    }
}

fn text(what: &str, name: &str) -> String {
    std::fs::read_to_string(recorded(what).join(name)).expect("it is in the checkout")
}

#[track_caller]
fn check(what: &str) {
    for version in versions(what) {
        let dir = copy(what, version);
        assert_eq!(
            local(dir.path(), &text(what, "check.sql")).expect(),
            text(what, "answers.tsv"),
            "v{version}"
        );
    }
}

#[test]
fn key_value_tables_of_every_version_are_read() {
    check("kv");
}

#[test]
fn metadata_of_every_version_are_read() {
    check("metadata");
}

/// The files of the dictionaries in a data directory.
fn images(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let stores = std::fs::read_dir(dir.join("store")).expect("it is there");
    let files = stores.map(|store| store.expect("readable").path().join("dictionary.bin"));
    files.filter_map(|file| Some((file.clone(), std::fs::read(file).ok()?))).collect()
}

/// Queries all dictionaries; returns the errors that kept their files from being used, one per line.
#[track_caller]
fn refusals(dir: &Path) -> String {
    let answers = text("dictionary", "answers.tsv");
    let script =
        text("dictionary", "check.sql") + "SELECT last_exception FROM system.dictionaries ORDER BY name";
    let printed = local(dir, &script).expect();
    let refusals = printed.strip_prefix(&answers);
    refusals.unwrap_or_else(|| panic!("other answers: {printed}")).to_owned()
}

#[test]
fn dictionaries_of_todays_version_answer_from_their_files() {
    let newest = *versions("dictionary").last().expect("not empty");
    let dir = copy("dictionary", newest);
    let before = images(dir.path());
    assert_eq!(refusals(dir.path()), "\n".repeat(before.len()), "is a new version recorded?");
    // A dictionary that was loaded again would have written its file again.
    assert!(before == images(dir.path()), "a file changed");
}

#[test]
fn dictionaries_of_other_versions_are_loaded_anew_and_say_why() {
    let all = versions("dictionary");
    let newest = *all.last().expect("not empty");
    for version in all {
        let dir = copy("dictionary", version);
        if version == newest {
            images(dir.path()).into_iter().for_each(|(path, bytes)| set_version(&path, bytes, newest + 1));
        }
        let count = images(dir.path()).len();
        let found = if version == newest { newest + 1 } else { version };
        let refusals = refusals(dir.path());
        let named =
            refusals.lines().filter(|line| line.contains(&format!("version {found} of a dictionary")));
        assert_eq!(named.count(), count, "{refusals}");
    }
}

fn set_version(path: &Path, mut bytes: Vec<u8>, version: u32) {
    let at = bytes.len() - VERSION_FROM_END;
    bytes[at..at + 4].copy_from_slice(&version.to_le_bytes());
    let crc = crc32c(&bytes[bytes.len() - TRAILER_BYTES..at + 4]);
    bytes[at + 4..at + 8].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(path, bytes).expect("writable");
}
