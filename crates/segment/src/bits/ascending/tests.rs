//! Ascending integers come back and are found.

use proptest::prelude::*;

use basalt_base::Result;

use super::*;
use crate::bits::packed::PADDING_BYTES;
use crate::file::testing::{Parts, TestDir};
use crate::file::{Access, PendingComponent};

fn build(dir: &TestDir, numbers: &[u64]) -> Parts {
    let mut component = PendingComponent::new("numbers", "ascending");
    let mut builder = AscendingBuilder::new(dir.place());
    numbers.iter().for_each(|&number| builder.push(number).expect("ascending"));
    builder.finish(&mut component).expect("room");
    Parts::of(component)
}

fn open(dir: &TestDir, parts: &Parts, access: Access) -> Result<Ascending> {
    let file = dir.file(std::slice::from_ref(parts), access);
    let mut component = file.component("numbers").expect("it is there");
    let opened = Ascending::open(&mut component)?;
    component.finish().map(|()| opened)
}

fn check(mut numbers: Vec<u64>, probes: &[u64]) -> f64 {
    numbers.sort_unstable();
    numbers.dedup();
    let dir = TestDir::new();
    let parts = build(&dir, &numbers);
    let mut estimate = SizeEstimate::default();
    numbers.iter().for_each(|&number| estimate.push(number));
    let opened = open(&dir, &parts, Access::Mapped).expect("numbers");
    assert_eq!(opened.len(), numbers.len());
    assert_eq!(opened.stored_bytes(), estimate.bytes() + PADDING_BYTES as u64);
    for (index, &number) in numbers.iter().enumerate() {
        assert_eq!(opened.get(index), number);
    }
    let near = numbers.iter().flat_map(|&number| [number.wrapping_sub(1), number, number.wrapping_add(1)]);
    for probe in near.chain(probes.iter().copied()) {
        let found = numbers.binary_search(&probe);
        assert_eq!(opened.locate(probe), (found.unwrap_or_else(|less| less), found.is_ok()), "{probe}");
    }
    for range in [0..numbers.len(), numbers.len() / 3..numbers.len() / 2, 0..0, 1..numbers.len()] {
        let mut taken = Vec::new();
        let done: std::result::Result<(), ()> = opened.for_each(range.clone(), |number| {
            taken.push(number);
            Ok(())
        });
        done.expect("no failure");
        assert_eq!(taken, numbers.get(range).unwrap_or_default());
    }
    opened.stored_bytes() as f64 * 8.0 / numbers.len().max(1) as f64
}

proptest! {
    #[test]
    fn numbers_are_found(
        numbers in prop::collection::vec(prop_oneof![any::<u64>(), 0..1000_u64, Just(u64::MAX), Just(0)], 0..600),
        probes in prop::collection::vec(any::<u64>(), 0..20),
    ) {
        check(numbers, &probes);
    }
}

#[test]
fn the_bits_are_near_the_logarithm_of_the_distance() {
    assert!(check((1000..50_000).collect(), &[]) < 1.1);
    let random = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = check((0..50_000).map(|at| random(at) >> 20).collect(), &[]);
    let expected = 2.0 + (((1_u64 << 44) / 50_000) as f64).log2() + 1.0;
    assert!(bits < expected + 0.7, "{bits} of {expected}");
}

#[test]
fn damaged_numbers_give_an_error_or_some_number() {
    let dir = TestDir::new();
    let parts = build(&dir, &(0..140).map(|at| at * at * 50).collect::<Vec<_>>());
    parts.each_damage(|damaged| {
        let Ok(opened) = open(&dir, damaged, Access::Mapped) else { return };
        for index in [0, 1, 77, 128, 139].into_iter().filter(|&index| index < opened.len()) {
            assert!(opened.locate(opened.get(index)).0 <= opened.len());
        }
        let done: std::result::Result<(), ()> = opened.for_each(0..1000, |_| Ok(()));
        done.expect("no failure");
    });
}
