//! What segments and columns say about themselves.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, Int64Array, ListArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{Field, Int64Type};

use super::sample::{Columns, PATH, built, open};
use crate::ColumnDescription;
use crate::file::{Access, SegmentDescription};

/// The bytes of a component and of those that are nested in it.
fn nested_bytes(description: &SegmentDescription, name: &str) -> u64 {
    let is_nested = |component: &str| component.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
    let components = description.components.iter();
    let nested = components.filter(|component| component.name == name || is_nested(&component.name));
    nested.map(|component| component.stored_bytes).sum()
}

#[test]
fn segment_is_described_by_its_directory() {
    let storage = built(2500);
    let segment = open(&storage, Access::Read).expect("a segment");
    let description = segment.describe();
    assert_eq!((description.version, description.segment), (1, 7));
    assert_eq!((description.rows, description.tombstones), (2500, 500));
    assert_eq!(description.bytes, storage.read(Path::new(PATH), 1 << 30).expect("bytes").len() as u64);
    let names: Vec<&str> = description.components.iter().map(|component| component.name.as_str()).collect();
    for name in ["key", "filter", "tombstones", "index/by_group", "index/by_group/values", "trigram/text"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let key = &description.components[0];
    assert_eq!((key.encoding.as_str(), key.raw_bytes), ("front", 2500 * 21));
    assert!(!key.reason.is_empty() && key.stored_bytes < key.raw_bytes / 4);
}

#[test]
fn columns_are_described_with_what_is_nested_in_them() {
    let numbers = (0..3000_i64).map(|at| (at % 7 != 0).then_some(at * at % 1009));
    let words: ArrayRef =
        Arc::new(BinaryViewArray::from_iter_values((0..6000).map(|at| format!("word {}", at % 5))));
    let lists = ListArray::new(
        Arc::new(Field::new("item", words.data_type().clone(), false)),
        OffsetBuffer::from_lengths((0..3000).map(|_| 2)),
        words,
        None,
    );
    let numbers: ArrayRef = Arc::new(numbers.collect::<Int64Array>());
    let fields = vec![
        (Arc::new(Field::new("n", numbers.data_type().clone(), true)), Arc::clone(&numbers)),
        (Arc::new(Field::new("l", lists.data_type().clone(), false)), Arc::new(lists.clone()) as ArrayRef),
    ];
    let segment = Columns::new([
        ("numbers", numbers),
        ("lists", Arc::new(lists)),
        ("both", Arc::new(StructArray::from(fields))),
    ])
    .segment();
    let (all, columns) = (segment.describe(), segment.describe_columns().collect::<Vec<_>>());
    let figures =
        |column: &&ColumnDescription| (column.name.clone(), column.encoding.clone(), column.raw_bytes);
    assert_eq!(
        columns.iter().map(figures).collect::<Vec<_>>(),
        [
            ("numbers".to_owned(), "packed".to_owned(), 3000 * 8),
            ("lists".to_owned(), "list".to_owned(), 6000 * 6),
            ("both".to_owned(), "struct".to_owned(), 3000 * 8 + 6000 * 6),
        ]
    );
    for column in columns {
        assert_eq!(column.stored_bytes, nested_bytes(&all, &format!("column/{}", column.name)), "{column:?}");
        assert!(!column.reason.is_empty() && column.stored_bytes > 0);
    }
}

#[test]
fn column_with_the_name_of_a_nested_component_is_another_column() {
    let numbers = |base: i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(base..base + 300)) };
    let columns = Columns::new([("a", numbers(5)), ("a/nulls", numbers(70)), ("a%2Fnulls", numbers(900))]);
    let segment = columns.segment();
    for (position, (spec, values)) in columns.0.iter().enumerate() {
        let column = segment.column(position).expect("it is there");
        let found = column.store().scan(0..300).expect("values");
        assert_eq!(found.as_primitive::<Int64Type>(), values.as_primitive::<Int64Type>());
        assert_eq!(column.description().name, spec.name);
    }
}
