//! The contract of [`Storage`], as one function that every implementation passes.

use std::path::Path;

use super::{Storage, publish_file};
use crate::ErrorCode;

/// Checks the contract inside `root`, which must exist and be empty.
pub(super) fn check(storage: &dyn Storage, root: &Path) {
    check_files(storage, root);
    check_directories(storage, root);
}

fn check_files(storage: &dyn Storage, root: &Path) {
    let path = root.join("file");
    assert_eq!(storage.open(&path).unwrap_err().code(), ErrorCode::FileDoesntExist);
    let mut file = storage.create(&path).unwrap();
    file.write_all(b"hello ").unwrap();
    file.write_all(b"world").unwrap();
    file.sync().unwrap();
    drop(file);
    storage.sync_file(&path).unwrap();
    storage.sync_files(&[]).unwrap();
    storage.sync_files(&vec![path.clone(); 20]).unwrap();
    assert!(storage.sync_files(&[path.clone(), root.join("missing")]).is_err());
    assert_eq!(storage.read(&path, 100).unwrap(), b"hello world");
    assert!(storage.read(&path, 10).is_err(), "a file over its limit is refused");

    let open = storage.open(&path).unwrap();
    let mut tail = [0; 5];
    open.read_at(6, &mut tail).unwrap();
    assert_eq!((&tail, open.size()), (b"world", 11));
    assert!(open.read_at(7, &mut tail).is_err(), "a read over the end is refused");

    let second = root.join("second");
    storage.hard_link(&path, &second).unwrap();
    assert!(storage.hard_link(&path, &second).is_err(), "a name is not taken from another file");
    storage.space_left(root).unwrap();

    storage.rename(&path, &root.join("moved")).unwrap();
    assert!(!storage.exists(&path).unwrap());
    storage.remove_file(&root.join("moved")).unwrap();
    open.read_at(6, &mut tail).unwrap();
    assert_eq!(&tail, b"world", "an open file outlives its name");
    assert_eq!(
        storage.read(&second, 100).unwrap(),
        b"hello world",
        "a file lives as long as one of its names"
    );
    storage.remove_file(&second).unwrap();
}

fn check_directories(storage: &dyn Storage, root: &Path) {
    let dir = root.join("a/b");
    storage.create_dir_all(&dir).unwrap();
    storage.create_dir_all(&dir).unwrap();
    publish_file(storage, &dir.join("x"), b"1").unwrap();
    publish_file(storage, &dir.join("x"), b"2").unwrap();
    storage.create_dir_all(&dir.join("c")).unwrap();
    let entries = storage.list(&dir).unwrap();
    let names: Vec<_> = entries.iter().map(|entry| (entry.name.as_str(), entry.is_dir)).collect();
    assert_eq!(names, [("c", true), ("x", false)]);
    storage.rename(&dir, &root.join("a/d")).unwrap();
    storage.sync_dir(&root.join("a")).unwrap();
    assert_eq!(storage.read(&root.join("a/d/x"), 100).unwrap(), b"2");
    storage.remove_dir_all(&root.join("a")).unwrap();
    assert!(!storage.exists(&root.join("a")).unwrap());
    assert!(storage.list(&dir).is_err());
}
