//! Posting lists give the blocks that a scan gives, from any bytes.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use basalt_base::Result;
use basalt_base::fs::{FaultyStorage, PendingFile, Storage};
use proptest::prelude::*;

use super::*;
use crate::Rank;
use crate::file::{Access, Features, PendingComponent, SegmentFile, SegmentWriter, SpoolPlace};

fn storage() -> (Arc<dyn Storage>, SpoolPlace) {
    let storage: Arc<dyn Storage> = Arc::new(FaultyStorage::new());
    storage.create_dir_all(Path::new("/tmp")).expect("a directory");
    let place = SpoolPlace::new(Arc::clone(&storage), "/tmp".into());
    (storage, place)
}

fn built(place: &SpoolPlace, texts: &[Vec<u8>], row_bytes: u64, pairs: usize) -> PendingComponent {
    let mut builder = TrigramBuilder::within(place.clone(), "trigram/text", row_bytes, pairs);
    texts.iter().for_each(|text| builder.push(text).expect("memory"));
    builder.finish().expect("a component")
}

fn opened(storage: &Arc<dyn Storage>, component: PendingComponent, access: Access) -> Result<Postings> {
    let path = Path::new("/tmp/1.seg");
    PendingFile::write_with(storage.as_ref(), path, |out| {
        let mut writer = SegmentWriter::begin(out, 1, Features::default())?;
        writer.add(component)?;
        writer.finish(0, 0).map(drop)
    })
    .and_then(|pending| pending.publish(storage.as_ref()))
    .expect("a file");
    let file = SegmentFile::open(storage.as_ref(), path, access).expect("a file");
    Postings::open(file.component("trigram/text").expect("it is there"))
}

/// The posting lists of `texts`, whose builder sorts `pairs` pairs at once.
pub(crate) fn postings_of(texts: &[Vec<u8>], row_bytes: u64, pairs: usize) -> Postings {
    let (storage, place) = storage();
    let component = built(&place, texts, row_bytes, pairs);
    opened(&storage, component, Access::Mapped).expect("postings")
}

fn candidates(postings: &Postings, query: &TrigramQuery, ranks: std::ops::Range<Rank>) -> Result<Vec<Rank>> {
    let mut found = Vec::new();
    postings.search(query, ranks, &mut |ranks| {
        assert!(found.last().is_none_or(|&last| last < ranks.start) && !ranks.is_empty());
        found.extend(ranks);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

fn satisfies(text: &[u8], query: &TrigramQuery) -> bool {
    match query {
        TrigramQuery::Everything => true,
        TrigramQuery::Nothing => false,
        TrigramQuery::Has(trigram) => text.windows(3).any(|window| query::trigram(window) == *trigram),
        TrigramQuery::All(parts) => parts.iter().all(|part| satisfies(text, part)),
        TrigramQuery::Any(parts) => parts.iter().any(|part| satisfies(text, part)),
    }
}

fn some_query() -> impl Strategy<Value = TrigramQuery> {
    let text = prop::collection::vec(b'a'..=b'd', 0..6);
    let leaf = text.prop_map(|text| TrigramQuery::of_text(&text));
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(one, other)| one.and(other)),
            (inner.clone(), inner).prop_map(|(one, other)| one.or(other)),
        ]
    })
}

/// The blocks are those that a scan of each block's trigrams finds.
fn check(texts: &[Vec<u8>], query: &TrigramQuery, pairs: usize) {
    let (storage, place) = storage();
    for access in [Access::Mapped, Access::Read] {
        let component = built(&place, texts, 1000, pairs);
        let postings = opened(&storage, component, access).expect("postings");
        let rows = texts.len() as Rank;
        for ranks in [0..rows, rows / 3..rows / 2, rows..rows] {
            let found = candidates(&postings, query, ranks.clone()).expect("candidates");
            let block =
                |rank: Rank| &texts[rank as usize / 64 * 64..texts.len().min(rank as usize / 64 * 64 + 64)];
            let occurs = |trigram: Trigram, rank| {
                let has = TrigramQuery::Has(trigram);
                block(rank).iter().any(|text| satisfies(text, &has))
            };
            let expected: Vec<Rank> =
                ranks.filter(|&rank| holds(query, &|trigram| occurs(trigram, rank))).collect();
            assert_eq!(found, expected, "{query:?}");
        }
    }
    let left = storage.list(Path::new("/tmp")).expect("a directory").len();
    assert!(left <= 1, "runs are removed");
}

fn holds(query: &TrigramQuery, occurs: &dyn Fn(Trigram) -> bool) -> bool {
    match query {
        TrigramQuery::Everything => true,
        TrigramQuery::Nothing => false,
        TrigramQuery::Has(trigram) => occurs(*trigram),
        TrigramQuery::All(parts) => parts.iter().all(|part| holds(part, occurs)),
        TrigramQuery::Any(parts) => parts.iter().any(|part| holds(part, occurs)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn blocks_with_the_trigrams_are_found(
        texts in prop::collection::vec(prop::collection::vec(b'a'..=b'd', 0..6), 0..400),
        query in some_query(),
        pairs in prop_oneof![Just(1), Just(20), Just(10_000)],
    ) {
        check(&texts, &query, pairs);
    }
}

#[test]
fn many_runs_are_merged_in_order() {
    let texts: Vec<Vec<u8>> = (0..20_000).map(|row| format!("{:x}", row * 7919).into_bytes()).collect();
    let query = TrigramQuery::of_text(b"1eef");
    check(&texts, &query, 100);
    check(&texts, &query, 1 << 20);
}

#[test]
fn lists_of_several_chunks_are_read_chunk_by_chunk() {
    let (storage, place) = storage();
    let rows: u32 = 64 * 70_000;
    let mut builder = TrigramBuilder::within(place, "trigram/text", 1 << 20, 1 << 20);
    let marked = [5, 64 * 40_000, 64 * 65_536, 64 * 69_000 + 1];
    (0..rows).for_each(|row| {
        let text: &[u8] = if marked.contains(&row) { b"xyz" } else { b"" };
        builder.push(text).expect("memory");
    });
    let postings =
        opened(&storage, builder.finish().expect("a component"), Access::Mapped).expect("postings");
    let found = candidates(&postings, &TrigramQuery::of_text(b"xyz"), 0..rows).expect("candidates");
    assert_eq!(found.len(), 4 * 64);
    assert!(marked.iter().all(|row| found.binary_search(row).is_ok()));
}

#[test]
fn every_flipped_bit_and_every_truncation_gives_an_error_or_some_answer() {
    let (storage, place) = storage();
    let texts: Vec<Vec<u8>> = (0..300).map(|row| format!("{}", row % 70).into_bytes()).collect();
    let query =
        TrigramQuery::of_text(b"abc").or(TrigramQuery::of_text(b"123")).or(TrigramQuery::Has(0x31_30_00));
    let texts: Vec<Vec<u8>> =
        texts.into_iter().map(|text| [text.as_slice(), b"123", b"10\0"].concat()).collect();
    let whole = built(&place, &texts, 1000, 1000);
    let numbers = whole.numbers.clone();
    let path = Path::new("/tmp/1.seg");
    let postings = opened(&storage, whole, Access::Mapped).expect("postings");
    let file = SegmentFile::open(storage.as_ref(), path, Access::Mapped).expect("a file");
    let mut reader = file.component("trigram/text").expect("it is there");
    let sections: Vec<Vec<u8>> = (0..3).map(|_| reader.resident().expect("a section").to_vec()).collect();
    assert_eq!(postings.stored_bytes(), sections.iter().map(Vec::len).sum::<usize>() as u64);
    let try_out = |numbers: &[u64], sections: &[Vec<u8>]| {
        let mut component = PendingComponent::new("trigram/text", super::layout::ENCODING);
        numbers.iter().for_each(|&number| component.number(number));
        sections.iter().for_each(|bytes| component.section(place.spool_of(bytes).expect("memory")));
        if let Ok(postings) = opened(&storage, component, Access::Mapped) {
            let _ = candidates(&postings, &query, 0..300);
            let _ = candidates(&postings, &query, 0..Rank::MAX);
        }
    };
    for (at, bit) in (0..numbers.len()).flat_map(|at| (0..64).map(move |bit| (at, bit))) {
        let mut damaged = numbers.clone();
        damaged[at] ^= 1 << bit;
        try_out(&damaged, &sections);
    }
    for section in 0..sections.len() {
        for bit in 0..sections[section].len() * 8 {
            let mut damaged = sections.clone();
            damaged[section][bit / 8] ^= 1 << (bit % 8);
            try_out(&numbers, &damaged);
        }
        for bytes in 0..sections[section].len() {
            let mut damaged = sections.clone();
            damaged[section].truncate(bytes);
            try_out(&numbers, &damaged);
        }
    }
}

#[test]
fn runs_in_files_come_back() {
    let (storage, place) = storage();
    let mut run = super::run::RunWriter::new(place.spool());
    let blocks: Vec<u32> = (0..30_000).map(|block| block * 17).collect();
    (0..100).for_each(|trigram| run.push(trigram * 1000, &blocks).expect("memory"));
    let run = run.finish().expect("a run");
    assert!(run.len() > 2 << 20);
    assert_eq!(storage.list(Path::new("/tmp")).expect("a directory").len(), 1);
    let mut found = std::collections::BTreeMap::<Trigram, Vec<u32>>::new();
    super::run::merge(vec![run], |trigram, blocks| {
        found.entry(trigram).or_default().extend(blocks);
        Ok(())
    })
    .expect("pieces");
    assert!(found.keys().copied().eq((0..100).map(|trigram| trigram * 1000)));
    assert!(found.values().all(|found| *found == blocks));
    assert!(storage.list(Path::new("/tmp")).expect("a directory").is_empty());
}
