//! Columns of every type and encoding come back.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Decimal128Array, Decimal256Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, ListArray, NullArray,
    StructArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array, new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Int64Type, i256};
use proptest::prelude::*;

use super::StringEncoding;
use super::conformance::{NAME, check, check_components, check_damage, chosen, components};
use super::nulls::NullsBuilder;
use super::numbers::NumbersBuilder;
use super::packed::{Multiples, PackedBuilder};
use super::plain::{PlainBuilder, value_bytes};
use crate::file::PendingComponent;
use crate::file::testing::TestDir;

/// Numbers that look like random ones.
fn noise(at: u64) -> u64 {
    let mut word = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word ^ (word >> 31)
}

const ROWS: u64 = 5000;

/// The store of these values has this encoding, and gives them back.
fn check_encoding(values: impl Array + 'static, encoding: &str) {
    let values: ArrayRef = Arc::new(values);
    assert_eq!(check(&values)[0], encoding, "{}", values.data_type());
}

#[test]
fn integers_are_packed() {
    check_encoding(UInt64Array::from_iter_values((0..ROWS).map(|at| noise(at) % 100_000)), "packed");
    check_encoding(UInt64Array::from_iter_values((0..ROWS).map(|at| (1 << 60) + 1000 * at)), "packed");
    check_encoding(Int64Array::from_iter_values((0..ROWS).map(|at| noise(at) as i64 >> 20)), "packed");
    check_encoding(Int32Array::from_iter_values((0..ROWS).map(|at| -5000 + at as i32)), "packed");
    check_encoding(
        Int32Array::from_iter_values((0..ROWS).map(|at| (noise(at) % 7000) as i32 * 86_400)),
        "packed",
    );
    check_encoding(UInt32Array::from_iter_values((0..ROWS).map(|at| (noise(at) >> 45) as u32)), "packed");
    check_encoding(UInt16Array::from_iter_values((0..ROWS).map(|at| (noise(at) >> 52) as u16)), "packed");
    check_encoding(Int16Array::from_iter_values((0..ROWS).map(|at| (noise(at) >> 52) as i16 - 9)), "packed");
    check_encoding(UInt8Array::from_iter_values((0..ROWS).map(|at| (noise(at) % 16) as u8)), "packed");
    check_encoding(BooleanArray::from_iter((0..ROWS).map(|at| Some(noise(at).is_multiple_of(3)))), "packed");
}

#[test]
fn few_distinct_values_get_codes() {
    let seven = |at| [0, 5, 1 << 40, 1 << 50, u64::MAX, 77, 1 << 33][noise(at) as usize % 7];
    check_encoding(UInt64Array::from_iter_values((0..ROWS).map(seven)), "codes");
    check_encoding(Int64Array::from_iter_values((0..ROWS).map(|at| seven(at) as i64)), "codes");
    check_encoding(Float64Array::from_iter_values((0..ROWS).map(|at| (seven(at) as f64).sqrt())), "codes");
    check_encoding(
        BinaryViewArray::from_iter_values((0..ROWS).map(|at| format!("name {}", at % 9))),
        "codes",
    );
    let wide = (0..ROWS).map(|at| [(at % 3) as u8; 16]);
    check_encoding(FixedSizeBinaryArray::try_from_iter(wide).expect("one width"), "codes");
    check_encoding(UInt64Array::from(vec![7; 3000]), "constant");
    check_encoding(Int8Array::from(vec![-7; 3]), "constant");
    check_encoding(Float32Array::from(vec![-0.0; 30]), "constant");
    check_encoding(BinaryViewArray::from_iter_values(vec!["long enough for a buffer"; 30]), "constant");
    check_encoding(BooleanArray::from(vec![false; 300]), "constant");
}

#[test]
fn floats_are_decimals_or_plain() {
    let price = |at| (noise(at) % 1_000_000) as f64 / 100.0;
    check_encoding(Float64Array::from_iter_values((0..ROWS).map(price)), "decimal");
    check_encoding(
        Float32Array::from_iter_values((0..ROWS).map(|at| (noise(at) % 9000) as f32 / 10.0)),
        "decimal",
    );
    let odd = [f64::NAN, f64::INFINITY, -0.0, 1e300, f64::MIN_POSITIVE, std::f64::consts::PI];
    let mixed = |at| if at % 20 == 3 { odd[at as usize / 20 % 6] } else { price(at) };
    check_encoding(Float64Array::from_iter_values((0..ROWS).map(mixed)), "decimal");
    check_encoding(Float64Array::from_iter_values((0..ROWS).map(|at| f64::from_bits(noise(at)))), "plain");
    check_encoding(
        Float32Array::from_iter_values((0..ROWS).map(|at| f32::from_bits(noise(at) as u32))),
        "plain",
    );
    check_encoding(UInt64Array::from_iter_values((0..ROWS).map(noise)), "plain");
}

#[test]
fn wide_values_are_packed_if_they_are_small() {
    let decimals = |shift: u32| {
        let values = (0..ROWS).map(move |at| i128::from(noise(at) >> 40) << shift);
        Decimal128Array::from_iter_values(values).with_precision_and_scale(38, 4).expect("they fit")
    };
    check_encoding(decimals(0), "packed");
    check_encoding(decimals(70), "plain");
    let decimals = |shift: u8| {
        let values = (0..ROWS).map(move |at| i256::from_i128(i128::from(noise(at) >> 40)) << shift);
        Decimal256Array::from_iter_values(values).with_precision_and_scale(60, 0).expect("they fit")
    };
    check_encoding(decimals(0), "packed");
    check_encoding(decimals(130), "plain");
    let ids = (0..ROWS).map(|at| [noise(at).to_le_bytes(), noise(at + 1).to_le_bytes()].concat());
    check_encoding(FixedSizeBinaryArray::try_from_iter(ids).expect("one width"), "plain");
}

#[test]
fn strings_come_back() {
    let string = |at| match at % 50 {
        0 => String::new(),
        1 => "long ".repeat(noise(at) as usize % 900),
        _ => format!("{:x}", noise(at)),
    };
    check_encoding(BinaryViewArray::from_iter_values((0..ROWS).map(string)), "onpair");
}

#[test]
fn nulls_are_kept_around_every_store() {
    let encodings = |values: ArrayRef| check(&values);
    let rare = |at| (!noise(at).is_multiple_of(100)).then_some(noise(at) % 1000);
    let values: ArrayRef = Arc::new(UInt64Array::from_iter((0..ROWS).map(rare)));
    assert_eq!(encodings(values), ["packed", "ranks"]);
    let often = |at| (!noise(at).is_multiple_of(3)).then_some(noise(at) % 1000);
    let values: ArrayRef = Arc::new(UInt64Array::from_iter((0..ROWS).map(often)));
    assert_eq!(encodings(values), ["packed", "bitmap"]);
    let values: ArrayRef = Arc::new(Float64Array::from_iter((0..ROWS).map(|at| often(at).map(|_| 1.5))));
    assert_eq!(encodings(values), ["constant", "packed", "bitmap"]);
    let strings = (0..ROWS).map(|at| often(at).map(|number| format!("{number} and {at}")));
    let values: ArrayRef = Arc::new(BinaryViewArray::from_iter(strings));
    assert_eq!(encodings(values), ["onpair", "bitmap"]);
    let strings = (0..ROWS).map(|at| often(at).map(|number| format!("{} and more text", number % 5)));
    let values: ArrayRef = Arc::new(BinaryViewArray::from_iter(strings));
    assert_eq!(encodings(values), ["codes", "strings", "bitmap"]);
    let types = [
        DataType::Int8,
        DataType::Boolean,
        DataType::Float32,
        DataType::BinaryView,
        DataType::FixedSizeBinary(3),
        DataType::Decimal256(60, 2),
    ];
    types.iter().for_each(|data_type| assert_eq!(encodings(new_null_array(data_type, 70))[0], "constant"));
    assert_eq!(encodings(Arc::new(NullArray::new(70))), ["nothing"]);
}

fn lists(lengths: impl Iterator<Item = usize>, elements: ArrayRef, nulls: bool) -> ListArray {
    let offsets = OffsetBuffer::<i32>::from_lengths(lengths);
    let field = Arc::new(Field::new("item", elements.data_type().clone(), nulls));
    let count = *offsets.last().expect("a list") as usize;
    ListArray::new(field, offsets, elements.slice(0, count), None)
}

#[test]
fn nested_values_come_back() {
    let numbers: ArrayRef =
        Arc::new(UInt32Array::from_iter_values((0..60_000).map(|at| noise(at) as u32 % 500)));
    let lengths = || (0..ROWS).map(|at| if at % 7 == 0 { 0 } else { noise(at) as usize % 13 });
    let values: ArrayRef = Arc::new(lists(lengths(), Arc::clone(&numbers), false));
    assert_eq!(check(&values), ["list", "packed"]);
    let words = (0..60_000).map(|at| (at % 5 != 0).then(|| format!("word {}", noise(at) % 20_000)));
    let words: ArrayRef = Arc::new(BinaryViewArray::from_iter(words));
    let values: ArrayRef = Arc::new(lists(lengths(), Arc::clone(&words), true));
    assert_eq!(check(&values), ["list", "onpair", "bitmap"]);
    let fields = vec![
        (Arc::new(Field::new("keys", DataType::BinaryView, true)), words),
        (Arc::new(Field::new("values", DataType::UInt32, false)), numbers),
    ];
    let structs = StructArray::from(fields);
    let few: ArrayRef = Arc::new(structs.slice(17, 4000));
    assert_eq!(check(&few), ["struct", "onpair", "bitmap", "packed"]);
    let maps: ArrayRef = Arc::new(lists(lengths(), Arc::new(structs), false));
    assert_eq!(check(&maps), ["list", "struct", "onpair", "bitmap", "packed"]);
    let deep: ArrayRef = Arc::new(lists((0..1000).map(|at| at % 9), Arc::clone(&maps), false));
    assert_eq!(check(&deep)[..2], ["list", "list"]);
    let empty: ArrayRef = Arc::new(StructArray::new_empty_fields(100, None));
    assert_eq!(check(&empty), ["struct"]);
}

#[test]
fn lists_with_nulls_come_back() {
    let values = (0..3000_i64)
        .map(|at| (at % 3 != 0).then(move || (0..at % 5).map(move |of| (of != 2).then_some(at * of))));
    let values: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(values));
    assert_eq!(check(&values), ["list", "packed", "bitmap", "bitmap"]);
    let field = Arc::new(Field::new("a", DataType::UInt8, false));
    let numbers: ArrayRef = Arc::new(UInt8Array::from_iter_values((0..200).map(|at| at / 2)));
    let nulls = NullBuffer::from_iter((0..200).map(|at| at % 50 != 3));
    let values: ArrayRef = Arc::new(StructArray::new(vec![field].into(), vec![numbers], Some(nulls)));
    assert_eq!(check(&values), ["struct", "packed", "ranks"]);
}

#[test]
fn builders_refuse_what_the_sample_did_not_see() {
    let dir = TestDir::new();
    let few: ArrayRef = Arc::new(UInt64Array::from_iter_values((0..2000).map(|at| at % 4 * 1_000_000)));
    let other: ArrayRef = Arc::new(UInt64Array::from(vec![123]));
    for multiples in [Multiples { base: 0, scale: 1_000_000 }, Multiples { base: 200, scale: 1 }] {
        let encoder = Box::new(PackedBuilder::new(multiples, dir.place()));
        let component = PendingComponent::new(NAME, "packed");
        let mut builder = NumbersBuilder::new(component, encoder, &DataType::UInt64, 0);
        assert!(super::StoreBuilder::push(&mut builder, &other).is_err());
    }
    let mut sample = super::ColumnSample::new(&DataType::UInt64, 0).expect("numbers");
    sample.add(&few).expect("a sample");
    let mut builder = super::choose(NAME, &DataType::UInt64, StringEncoding::Auto, &sample, dir.place())
        .expect("an encoding");
    assert!(builder.push(&other).is_err());
}

#[test]
fn plain_numbers_with_nulls_come_back() {
    let dir = TestDir::new();
    let values: ArrayRef = Arc::new(Int64Array::from_iter((0..40_i64).map(|at| (at % 3 != 0).then_some(at))));
    let width = value_bytes(&DataType::Int64).expect("a number");
    let plain = PlainBuilder::new(PendingComponent::new(NAME, "plain"), width, dir.place());
    let builder = NullsBuilder::new(Box::new(plain), format!("{NAME}/nulls"), 14, 40, dir.place());
    let parts = components(Box::new(builder), std::slice::from_ref(&values));
    check_components(&parts, &[values], &DataType::Int64, &dir);
    check_damage(&parts, 40, &DataType::Int64, &dir);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_numbers_come_back(
        numbers in prop::collection::vec(
            prop::option::of(prop_oneof![any::<i64>(), -9..9_i64, Just(i64::MIN), Just(i64::MAX)]), 0..3000),
        shift in 0..63_u32,
    ) {
        let dir = TestDir::new();
        let shifted = || numbers.iter().map(|number| number.map(|number| number >> shift));
        let arrays: [ArrayRef; 4] = [
            Arc::new(Int64Array::from_iter(shifted())),
            Arc::new(Int8Array::from_iter(shifted().map(|number| number.map(|number| number as i8)))),
            Arc::new(Float64Array::from_iter(shifted().map(|number| number.map(|number| number as f64 / 8.0)))),
            Arc::new(BinaryViewArray::from_iter(shifted().map(|number| number.map(|number| number.to_string())))),
        ];
        for array in arrays {
            let data_type = array.data_type().clone();
            let arrays = [array.slice(0, array.len() / 2), array.slice(array.len() / 2, array.len() - array.len() / 2)];
            check_components(&chosen(&arrays, &data_type, &dir), &arrays, &data_type, &dir);
        }
    }
}
