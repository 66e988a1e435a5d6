//! Any sequence of operations against a list of numbers.

use proptest::prelude::*;

use super::{TestTable, batch_of, read_numbers, sorted};

#[derive(Clone, Debug)]
enum Op {
    Insert(Vec<u64>),
    /// Merges this many parts beginning with that one, if they exist.
    Merge(usize, usize),
    OptimizeFinal,
    Truncate,
    Reopen,
    /// Keeps a snapshot alive, so that obsolete parts stay on disk.
    HoldSnapshot,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => prop::collection::vec(0..50_u64, 0..40).prop_map(Op::Insert),
        3 => (0..4_usize, 1..4_usize).prop_map(|(start, count)| Op::Merge(start, count)),
        1 => Just(Op::OptimizeFinal),
        1 => Just(Op::Truncate),
        2 => Just(Op::Reopen),
        1 => Just(Op::HoldSnapshot),
    ]
}

fn check(ops: &[Op]) {
    let mut table = TestTable::new();
    let mut expected: Vec<u64> = Vec::new();
    let mut held = Vec::new();
    for op in ops {
        match op {
            Op::Insert(values) => {
                table.parts.insert(batch_of(values.clone())).unwrap();
                expected.extend(values);
            }
            Op::Merge(start, count) => {
                if let Some(parts) = table.parts.snapshot().get(*start..start + count) {
                    table.parts.merge(parts, &Default::default()).unwrap();
                }
            }
            Op::OptimizeFinal => {
                table.parts.optimize_final(&Default::default(), &Default::default()).unwrap();
                assert!(table.parts.snapshot().len() <= 1);
            }
            Op::Truncate => {
                table.parts.truncate().unwrap();
                expected.clear();
            }
            Op::Reopen => {
                held.clear();
                table = table.reopen();
            }
            Op::HoldSnapshot => held.push((table.parts.snapshot(), expected.len())),
        }
        assert_eq!(sorted(read_numbers(&table.parts).unwrap()), sorted(expected.clone()));
        assert_eq!(table.parts.row_count(), expected.len() as u64);
        for part in table.parts.snapshot().iter() {
            part.check().unwrap();
        }
    }
    for (snapshot, rows) in held {
        assert_eq!(snapshot.iter().map(|part| part.row_count() as usize).sum::<usize>(), rows);
        snapshot.iter().for_each(|part| part.check().unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn table_is_what_was_inserted(ops in prop::collection::vec(op(), 1..25)) {
        check(&ops);
    }
}
