//! The list of column stores: which one a column gets, and which one a file has.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, FixedSizeBinaryArray};
use arrow::datatypes::DataType;
use basalt_base::{Error, Result};

use super::choice::{NumberChoice, choose_numbers};
use super::codes::{self, Codes, CodesBuilder, code_bits};
use super::decimals::{self, Decimals, DecimalsBuilder};
use super::image::{FloatWidth, array_of_images};
use super::list::{self, ListBuilder, Lists};
use super::nothing::{self, Nothing, NothingBuilder};
use super::nulls::{NULLS, Nulls, NullsBuilder};
use super::number_stats::NumberStats;
use super::numbers::{NumberStore, NumbersBuilder};
use super::packed::{self, Multiples, Packed, PackedBuilder};
use super::plain::{self, Plain, PlainBuilder};
use super::plain_strings::{self, PlainStrings, PlainStringsBuilder};
use super::sample::{ColumnSample, ValueStats};
use super::store::{ColumnStore, StoreBuilder};
use super::strings::{self, StringEncoding, StringSample};
use super::structs::{self, StructBuilder, Structs};
use crate::file::{PendingComponent, SegmentFile, SpoolPlace};

/// Components inside of one another: more than any type has.
const DEPTH_MAX: u32 = 64;
/// Codes of strings must take this share of the strings' bytes.
const CODES_SHARE_MAX: f64 = 0.5;

/// A builder with the encoding that takes the fewest bits for a column of which `sample` has seen all values, or with
/// the `encoding` of strings that is not [`StringEncoding::Auto`]. Its components are called `name`, and `name/...` for the nested ones.
pub fn choose(
    name: &str,
    data_type: &DataType,
    encoding: StringEncoding,
    sample: &ColumnSample,
    place: &SpoolPlace,
) -> Result<Box<dyn StoreBuilder>> {
    let values: Box<dyn StoreBuilder> = match (sample.values(), data_type) {
        (ValueStats::Numbers(stats), _) => numbers(name, data_type, stats, place)?,
        (ValueStats::LargeNumbers, _) => {
            plain_values(name, data_type, "decimals with more than 64 bits".to_owned(), place)?
        }
        (ValueStats::Strings(_), _) => strings(name, data_type, encoding, sample, place)?,
        (ValueStats::List(element), DataType::List(field)) => {
            let nested =
                choose(&nested_name(name, list::ELEMENTS), field.data_type(), encoding, element, place)?;
            Box::new(ListBuilder::new(component(name, list::ENCODING, "by its type".into()), nested, place))
        }
        (ValueStats::Struct(samples), DataType::Struct(fields)) => {
            let fields = fields.iter().zip(samples).enumerate().map(|(index, (field, sample))| {
                choose(&nested_name(name, &index.to_string()), field.data_type(), encoding, sample, place)
            });
            let fields = fields.collect::<Result<_>>()?;
            Box::new(StructBuilder::new(component(name, structs::ENCODING, "by its type".into()), fields))
        }
        (ValueStats::Nothing, DataType::Null) => {
            return Ok(Box::new(NothingBuilder::new(component(
                name,
                nothing::ENCODING,
                "by its type".into(),
            ))));
        }
        _ => return Err(Error::logical(format!("the sample of `{name}` has another type than {data_type}"))),
    };
    Ok(match sample.null_count() {
        0 => values,
        nulls => {
            let name = nested_name(name, NULLS);
            Box::new(NullsBuilder::new(values, name, nulls, sample.rows(), place))
        }
    })
}

fn component(name: &str, encoding: &str, reason: String) -> PendingComponent {
    PendingComponent { reason, ..PendingComponent::new(name, encoding) }
}

fn nested_name(owner: &str, name: &str) -> String {
    format!("{owner}/{name}")
}

fn numbers(
    name: &str,
    data_type: &DataType,
    stats: &NumberStats,
    place: &SpoolPlace,
) -> Result<Box<dyn StoreBuilder>> {
    let filler = stats.bounds().map_or(0, |(low, _)| low);
    let (choice, reason) = choose_numbers(stats, data_type);
    let encoded = |component, encoder| NumbersBuilder::new(component, encoder, data_type, filler);
    Ok(match choice {
        NumberChoice::Codes(images) => {
            let component = component(name, codes::encoding(images.len()), reason);
            let nested = PackedBuilder::new(Multiples::ALL, place);
            let values = PendingComponent::new(nested_name(name, codes::VALUES), packed::ENCODING);
            let values = encoded(values, Box::new(nested));
            let values = store_of(Box::new(values), array_of_images(data_type, &images)?)?;
            Box::new(CodesBuilder::of_images(component, &images, values, place))
        }
        NumberChoice::Packed(multiples) => {
            let component = component(name, packed::ENCODING, reason);
            Box::new(encoded(component, Box::new(PackedBuilder::new(multiples, place))))
        }
        NumberChoice::Decimals(scale, width) => {
            let component = component(name, decimals::ENCODING, reason);
            Box::new(encoded(component, Box::new(DecimalsBuilder::new(scale, width, place))))
        }
        NumberChoice::Plain => plain_values(name, data_type, reason, place)?,
    })
}

fn plain_values(
    name: &str,
    data_type: &DataType,
    reason: String,
    place: &SpoolPlace,
) -> Result<Box<dyn StoreBuilder>> {
    let width = plain::value_bytes(data_type)
        .ok_or_else(|| Error::logical(format!("a value of type {data_type} has no fixed width")))?;
    Ok(Box::new(PlainBuilder::new(component(name, plain::ENCODING, reason), width, place)))
}

fn strings(
    name: &str,
    data_type: &DataType,
    encoding: StringEncoding,
    sample: &ColumnSample,
    place: &SpoolPlace,
) -> Result<Box<dyn StoreBuilder>> {
    if encoding == StringEncoding::Auto
        && let Some(distinct) = sample.distinct_strings()
        && pays(&distinct, sample)
    {
        return string_codes(name, data_type, distinct, place);
    }
    uncoded_strings(name, data_type, encoding, sample, place)
}

/// Whether codes take less space than the strings.
fn pays(distinct: &[Box<[u8]>], sample: &ColumnSample) -> bool {
    let values: usize = distinct.iter().map(|string| string.len()).sum();
    let codes = sample.rows() as f64 * f64::from(code_bits(distinct.len())) / 8.0;
    distinct.len() <= 1 || values as f64 + codes <= CODES_SHARE_MAX * sample.string_bytes() as f64
}

/// Codes of strings of which few are distinct.
fn string_codes(
    name: &str,
    data_type: &DataType,
    mut distinct: Vec<Box<[u8]>>,
    place: &SpoolPlace,
) -> Result<Box<dyn StoreBuilder>> {
    if distinct.is_empty() {
        // It stands for NULLs.
        distinct.push(vec![0; plain::value_bytes(data_type).unwrap_or(0)].into());
    }
    let values: ArrayRef = match data_type {
        DataType::FixedSizeBinary(_) => {
            Arc::new(FixedSizeBinaryArray::try_from_iter(distinct.iter()).map_err(Error::logical)?)
        }
        _ => Arc::new(BinaryViewArray::from_iter_values(distinct.iter())),
    };
    let nested = nested_name(name, codes::VALUES);
    let reason = "they are few".to_owned();
    let values = match data_type {
        DataType::FixedSizeBinary(_) => store_of(plain_values(&nested, data_type, reason, place)?, values)?,
        _ => store_of(plain_string_builder(&nested, reason, place), values)?,
    };
    let reason = format!("codes of {} bits: {} distinct values", code_bits(distinct.len()), distinct.len());
    let component = component(name, codes::encoding(distinct.len()), reason);
    Ok(Box::new(CodesBuilder::of_bytes(component, distinct, values, place)))
}

/// Strings that get no codes.
fn uncoded_strings(
    name: &str,
    data_type: &DataType,
    encoding: StringEncoding,
    sample: &ColumnSample,
    place: &SpoolPlace,
) -> Result<Box<dyn StoreBuilder>> {
    match data_type {
        DataType::BinaryView => {
            let strings: Vec<&[u8]> = sample.strings().collect();
            let sample =
                StringSample { strings: &strings, rows: sample.rows(), bytes: sample.string_bytes() };
            strings::choose(sample, encoding, place)?.builder(name, place)
        }
        _ => plain_values(name, data_type, "many distinct values of a fixed width".to_owned(), place),
    }
}

fn plain_string_builder(name: &str, reason: String, place: &SpoolPlace) -> Box<dyn StoreBuilder> {
    Box::new(PlainStringsBuilder::new(component(name, plain_strings::ENCODING, reason), place))
}

/// The components of all values at once.
fn store_of(mut builder: Box<dyn StoreBuilder>, values: ArrayRef) -> Result<Vec<PendingComponent>> {
    builder.push(&values)?;
    builder.finish()
}

/// The store of the column `name` of `file`, whose values have this type. It has a value for each row.
pub fn open(file: &SegmentFile, name: &str, data_type: &DataType) -> Result<Arc<dyn ColumnStore>> {
    let store = open_nested(file, name, data_type, 0)?;
    match store.len() == file.rows() {
        true => Ok(store),
        false => {
            let what = format!("{} values for {} rows", store.len(), file.rows());
            Err(file.component(name)?.place().corrupt(what))
        }
    }
}

fn open_nested(
    file: &SegmentFile,
    name: &str,
    data_type: &DataType,
    depth: u32,
) -> Result<Arc<dyn ColumnStore>> {
    let values = open_values(file, name, data_type, depth)?;
    match file.find(&nested_name(name, NULLS))? {
        Some(mut nulls) => {
            let store = Nulls::open(values, &mut nulls)?;
            nulls.finish()?;
            Ok(Arc::new(store))
        }
        None => Ok(values),
    }
}

fn open_values(
    file: &SegmentFile,
    name: &str,
    data_type: &DataType,
    depth: u32,
) -> Result<Arc<dyn ColumnStore>> {
    let mut component = file.component(name)?;
    if depth > DEPTH_MAX {
        return Err(component.place().corrupt(format!("it is nested more than {DEPTH_MAX} times")));
    }
    let nested = |inner: &str, data_type: &DataType| {
        open_nested(file, &nested_name(name, inner), data_type, depth + 1)
    };
    let encoding = component.encoding().to_owned();
    let reader = &mut component;
    if strings::is_encoding(&encoding) && *data_type == DataType::BinaryView {
        return strings::open(file, name);
    }
    let store: Arc<dyn ColumnStore> = match (encoding.as_str(), data_type) {
        (codes::ENCODING | codes::CONSTANT, _) => Arc::new(Codes::open(reader, data_type, &nested)?),
        (packed::ENCODING, number) if super::image::has_images(number) => {
            Arc::new(NumberStore::new(Packed::open(reader)?, number))
        }
        (decimals::ENCODING, DataType::Float32 | DataType::Float64) => {
            let width = FloatWidth::of(data_type).unwrap_or(FloatWidth::Double);
            Arc::new(NumberStore::new(Decimals::open(reader, width)?, data_type))
        }
        (plain::ENCODING, _) => Arc::new(Plain::open(reader, data_type)?),
        (plain_strings::ENCODING, DataType::BinaryView) => Arc::new(PlainStrings::open(reader)?),
        (list::ENCODING, DataType::List(element)) => Arc::new(Lists::open(reader, element, &nested)?),
        (structs::ENCODING, DataType::Struct(fields)) => Arc::new(Structs::open(reader, fields, &nested)?),
        (nothing::ENCODING, DataType::Null) => Arc::new(Nothing::open(reader)?),
        (other, _) => {
            return Err(component
                .place()
                .corrupt(format!("`{other}` is no encoding of values of type {data_type}")));
        }
    };
    component.finish()?;
    Ok(store)
}
