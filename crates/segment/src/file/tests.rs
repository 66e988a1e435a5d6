//! Containers come back as they were written, and damaged ones are refused.

use std::path::Path;
use std::sync::Arc;

use basalt_base::fs::{FaultyStorage, PendingFile, Storage};

use super::*;

fn storage() -> Arc<dyn Storage> {
    let storage: Arc<dyn Storage> = Arc::new(FaultyStorage::new());
    storage.create_dir_all(Path::new("/tmp")).expect("a directory");
    storage
}

/// A file of two components.
fn write(storage: &Arc<dyn Storage>, path: &Path) {
    let place = SpoolPlace::new(Arc::clone(storage), "/tmp".into());
    let pending = PendingFile::write_with(storage.as_ref(), path, |out| {
        let mut writer = SegmentWriter::begin(out, 7, Features::default())?;
        let mut first = PendingComponent::new("key", "plain");
        first.number(5);
        first.section(place.spool_of(b"abc")?);
        first.section(place.spool_of(&vec![9; 70_000])?);
        writer.add(first)?;
        let mut second = PendingComponent::new("column/text", "large");
        let mut spool = place.spool();
        (0..300_u32).try_for_each(|number| spool.write(&[number as u8; 10_000]))?;
        second.section(spool);
        writer.add(second)?;
        writer.finish(100, 3).map(drop)
    });
    pending.and_then(|pending| pending.publish(storage.as_ref())).expect("a file");
}

#[test]
fn components_come_back_in_both_ways_of_access() {
    let (storage, path) = (storage(), Path::new("/tmp/1.seg"));
    write(&storage, path);
    for access in [Access::Mapped, Access::Read] {
        let file = SegmentFile::open(storage.as_ref(), path, access).expect("a segment");
        assert_eq!((file.segment(), file.rows(), file.tombstones()), (7, 100, 3));
        let mut key = file.component("key").expect("it is there");
        assert_eq!(key.number().expect("a number"), 5);
        assert_eq!(&*key.resident().expect("a section"), b"abc");
        let bytes = key.bytes().expect("a section");
        assert_eq!(bytes.read(69_998..70_000, &mut Vec::new()).expect("bytes"), [9, 9]);
        assert!(bytes.read(69_998..70_001, &mut Vec::new()).is_err());
        key.finish().expect("nothing is left");
        let mut text = file.component("column/text").expect("it is there");
        let bytes = text.bytes().expect("a section");
        assert_eq!(bytes.len(), 3_000_000);
        assert_eq!(bytes.read(2_009_999..2_010_001, &mut Vec::new()).expect("bytes"), [200, 201]);
        assert!(file.find("other").expect("a directory").is_none());
        file.check().expect("whole");
    }
    assert_eq!(storage.list(Path::new("/tmp")).expect("a directory").len(), 1, "spools are removed");
}

#[test]
fn a_damaged_page_is_found_alone_and_named() {
    let (storage, path) = (storage(), Path::new("/tmp/1.seg"));
    write(&storage, path);
    let mut bytes = storage.read(path, 1 << 30).expect("bytes");
    let pages = |access| {
        let file = SegmentFile::open(storage.as_ref(), path, access).expect("a segment");
        (0..file.page_count()).map(|page| file.check_page(page)).collect::<Vec<_>>()
    };
    assert!(pages(Access::Read).iter().all(Result::is_ok));
    let file = SegmentFile::open(storage.as_ref(), path, Access::Read).expect("a segment");
    let sections = file.components().iter().flat_map(|component| &component.sections);
    let ends: Vec<usize> = sections.map(|section| SegmentFile::pages_of(section).end).collect();
    assert_eq!(ends, [1, 2, file.page_count()]);
    let damaged = file.page_range(3);
    bytes[damaged.end as usize - 1] ^= 1;
    basalt_base::fs::publish_file(storage.as_ref(), path, &bytes).expect("a file");
    for access in [Access::Mapped, Access::Read] {
        let checks = pages(access);
        let bad: Vec<usize> = (0..checks.len()).filter(|&page| checks[page].is_err()).collect();
        assert_eq!(bad, [3]);
        let error = checks[3].as_ref().expect_err("damage").to_string();
        assert!(error.contains(&damaged.start.to_string()), "{error}");
    }
}

#[test]
fn every_flipped_bit_of_fixed_parts_and_every_truncation_is_refused() {
    let (storage, path) = (storage(), Path::new("/tmp/1.seg"));
    let place = SpoolPlace::new(Arc::clone(&storage), "/tmp".into());
    let mut whole = Vec::new();
    PendingFile::write_with(storage.as_ref(), path, |out| {
        let mut writer = SegmentWriter::begin(out, 7, Features::default())?;
        let mut component = PendingComponent::new("key", "plain");
        component.number(5);
        component.section(place.spool_of(b"abc")?);
        writer.add(component)?;
        writer.finish(1, 0).map(drop)
    })
    .and_then(|pending| pending.publish(storage.as_ref()))
    .expect("a file");
    whole.extend(storage.read(path, 1 << 20).expect("bytes"));
    let open = |bytes: &[u8]| {
        basalt_base::fs::publish_file(storage.as_ref(), path, bytes).expect("a file");
        let file = SegmentFile::open(storage.as_ref(), path, Access::Mapped)?;
        file.check()
    };
    open(&whole).expect("whole");
    (0..whole.len()).for_each(|bytes| assert!(open(&whole[..bytes]).is_err(), "cut to {bytes} bytes"));
    for bit in 0..whole.len() * 8 {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(open(&damaged).is_err(), "bit {bit}");
    }
}
