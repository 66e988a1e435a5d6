//! Builds columns of scalar types from text without quotes and escapes.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewBuilder, BooleanArray, BooleanBufferBuilder, FixedSizeBinaryArray, NullArray,
    PrimitiveArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    ArrowPrimitiveType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use basalt_base::types::{DECIMAL128_DIGITS, U256};
use basalt_base::zone::Zone;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::address::{parse_bool, parse_ipv4, parse_uuid};
use super::best_effort::{DateOrder, parse_best_effort};
use super::ipv6::{IPV6_BYTES, parse_ipv6};
use super::labels::Labels;
use super::number::{parse_decimal, parse_float, parse_integer, parse_wide};
use super::time::{parse_date, parse_date_time, parse_date_time64};
use crate::settings::{BoolWords, DateTimeInput, TextSettings};

/// The values of a scalar column.
pub(super) trait Scalars: Send {
    /// Appends the value of `text`; appends nothing if it fails.
    fn push_text(&mut self, text: &[u8]) -> Result<()>;
    fn push_default(&mut self);
    fn len(&self) -> usize;
    /// Drops the last values.
    fn truncate(&mut self, len: usize);
    /// Returns the values and resets the column.
    fn finish(&mut self, nulls: Option<NullBuffer>) -> ArrayRef;
}

/// The column for `ty`; `None` if the type is nested.
pub(super) fn scalars_of(ty: &SqlType, settings: &TextSettings) -> Result<Option<Box<dyn Scalars>>> {
    let zone_of = |name: &Option<Arc<str>>| match name {
        Some(name) => Zone::parse(name),
        None => Ok(settings.zone),
    };
    Ok(Some(match ty {
        SqlType::UInt8 => number::<UInt8Type>(parse_integer),
        SqlType::UInt16 => number::<UInt16Type>(parse_integer),
        SqlType::UInt32 => number::<UInt32Type>(parse_integer),
        SqlType::UInt64 => number::<UInt64Type>(parse_integer),
        SqlType::Int8 => number::<Int8Type>(parse_integer),
        SqlType::Int16 => number::<Int16Type>(parse_integer),
        SqlType::Int32 => number::<Int32Type>(parse_integer),
        SqlType::Int64 | SqlType::Interval(_) => number::<Int64Type>(parse_integer),
        SqlType::Float32 => number::<Float32Type>(parse_float),
        SqlType::Float64 => number::<Float64Type>(parse_float),
        SqlType::Ipv4 => number::<UInt32Type>(parse_ipv4),
        SqlType::Date => {
            number::<UInt16Type>(|text| Ok(parse_date(text)?.clamp(0, i32::from(u16::MAX)) as u16))
        }
        SqlType::Date32 => number::<Int32Type>(parse_date),
        SqlType::DateTime(name) => {
            let (zone, input) = (zone_of(name)?, settings.date_time_input);
            number::<UInt32Type>(move |text| {
                Ok(parse_time(text, 0, zone, input)?.clamp(0, i64::from(u32::MAX)) as u32)
            })
        }
        SqlType::DateTime64 { precision, zone } => {
            let (precision, zone, input) = (*precision, zone_of(zone)?, settings.date_time_input);
            number::<Int64Type>(move |text| parse_time(text, precision, zone, input))
        }
        SqlType::Decimal { precision, scale } => decimals(*precision, *scale),
        SqlType::Bool => Box::new(Bools { values: BooleanBufferBuilder::new(0), words: settings.bool_words }),
        SqlType::String => Box::new(Strings { values: new_string_builder(), rows: 0 }),
        SqlType::FixedString(width) => fixed(*width, pad_to),
        SqlType::Uuid => fixed(16, |text, _, out| {
            out.extend_from_slice(&parse_uuid(text)?);
            Ok(())
        }),
        SqlType::Ipv6 => fixed(IPV6_BYTES, |text, _, out| {
            out.extend_from_slice(&parse_ipv6(text)?);
            Ok(())
        }),
        SqlType::Wide(wide) => {
            let wide = *wide;
            let parse = move |text: &[u8], _, out: &mut Vec<u8>| {
                wide.encode(parse_wide(text, wide)?.bits(), out);
                Ok(())
            };
            fixed_with(wide.encoded(U256::ZERO), parse)
        }
        SqlType::Nothing => Box::new(Nothing { rows: 0 }),
        SqlType::Enum8(_) | SqlType::Enum16(_) => return Ok(labelled(ty)),
        _ => return Ok(None),
    }))
}

/// Parses a time to ticks of `10^-precision` s. Text that the basic parser does not read is left to the other one.
fn parse_time(text: &[u8], precision: u8, zone: Zone, input: DateTimeInput) -> Result<i64> {
    let basic = match precision {
        0 => parse_date_time(text, zone),
        _ => parse_date_time64(text, precision, zone),
    };
    let order = match input {
        _ if basic.is_ok() => return basic,
        DateTimeInput::Basic => return basic,
        DateTimeInput::BestEffort => DateOrder::DayFirst,
        DateTimeInput::BestEffortUs => DateOrder::MonthFirst,
    };
    let Some(instant) = parse_best_effort(text, zone, order) else { return basic };
    let per_second = 10_i64.pow(u32::from(precision));
    let ticks = instant.second.checked_mul(per_second);
    let ticks = ticks.and_then(|ticks| ticks.checked_add(instant.nanosecond / (1_000_000_000 / per_second)));
    ticks.map_or(basic, Ok)
}

/// A column of an Arrow primitive type, and the parser of its text.
struct Numbers<T: ArrowPrimitiveType, P> {
    values: Vec<T::Native>,
    default: T::Native,
    parse: P,
    /// Carries the precision and scale of decimals.
    data_type: arrow::datatypes::DataType,
    ty: PhantomData<fn() -> T>,
}

fn number<T: ArrowPrimitiveType>(
    parse: impl Fn(&[u8]) -> Result<T::Native> + Send + 'static,
) -> Box<dyn Scalars> {
    number_with::<T>(T::Native::default(), T::DATA_TYPE, parse)
}

fn number_with<T: ArrowPrimitiveType>(
    default: T::Native,
    data_type: arrow::datatypes::DataType,
    parse: impl Fn(&[u8]) -> Result<T::Native> + Send + 'static,
) -> Box<dyn Scalars> {
    Box::new(Numbers::<T, _> { values: Vec::new(), default, parse, data_type, ty: PhantomData })
}

fn decimals(precision: u8, scale: u8) -> Box<dyn Scalars> {
    let data_type = SqlType::Decimal { precision, scale }.carrier();
    if precision > DECIMAL128_DIGITS {
        let parse = move |text: &[u8]| parse_decimal(text, precision, scale);
        return number_with::<Decimal256Type>(arrow::datatypes::i256::ZERO, data_type, parse);
    }
    number_with::<Decimal128Type>(0, data_type, move |text| {
        Ok(parse_decimal(text, precision, scale)?.as_i128())
    })
}

fn labelled(ty: &SqlType) -> Option<Box<dyn Scalars>> {
    let labels = Labels::of(ty)?;
    let first = labels.first();
    Some(match ty {
        SqlType::Enum8(_) => {
            number_with::<Int8Type>(first as i8, ty.carrier(), move |text| Ok(labels.parse(text)? as i8))
        }
        _ => number_with::<Int16Type>(first, ty.carrier(), move |text| labels.parse(text)),
    })
}

impl<T, P> Scalars for Numbers<T, P>
where
    T: ArrowPrimitiveType,
    P: Fn(&[u8]) -> Result<T::Native> + Send,
{
    fn push_text(&mut self, text: &[u8]) -> Result<()> {
        self.values.push((self.parse)(text)?);
        Ok(())
    }

    fn push_default(&mut self) {
        self.values.push(self.default);
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
    }

    fn finish(&mut self, nulls: Option<NullBuffer>) -> ArrayRef {
        let values = std::mem::take(&mut self.values);
        let array = PrimitiveArray::<T>::new(values.into(), nulls);
        Arc::new(array.with_data_type(self.data_type.clone()))
    }
}

struct Bools {
    values: BooleanBufferBuilder,
    words: Option<BoolWords>,
}

impl Scalars for Bools {
    fn push_text(&mut self, text: &[u8]) -> Result<()> {
        self.values.append(match self.words {
            Some(words) if text == words.yes.as_bytes() => true,
            Some(words) if text == words.no.as_bytes() => false,
            _ => parse_bool(text)?,
        });
        Ok(())
    }

    fn push_default(&mut self) {
        self.values.append(false);
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
    }

    fn finish(&mut self, nulls: Option<NullBuffer>) -> ArrayRef {
        Arc::new(BooleanArray::new(self.values.finish(), nulls))
    }
}

struct Strings {
    values: BinaryViewBuilder,
    rows: usize,
}

fn new_string_builder() -> BinaryViewBuilder {
    BinaryViewBuilder::new()
}

impl Scalars for Strings {
    fn push_text(&mut self, text: &[u8]) -> Result<()> {
        self.values
            .try_append_value(text)
            .map_err(|_| Error::new(ErrorCode::TooLargeStringSize, "a string is longer than 4 GiB"))?;
        self.rows += 1;
        Ok(())
    }

    fn push_default(&mut self) {
        self.values.append_value(b"");
        self.rows += 1;
    }

    fn len(&self) -> usize {
        self.rows
    }

    fn truncate(&mut self, len: usize) {
        if len < self.rows {
            let kept = self.values.finish().slice(0, len);
            for value in kept.iter() {
                self.values.append_value(value.unwrap_or_default());
            }
            self.rows = len;
        }
    }

    fn finish(&mut self, nulls: Option<NullBuffer>) -> ArrayRef {
        self.rows = 0;
        let (views, buffers, _) = self.values.finish().into_parts();
        Arc::new(arrow::array::BinaryViewArray::new(views, buffers, nulls))
    }
}

/// Values of `width` bytes each.
struct Fixed<P> {
    values: Vec<u8>,
    width: usize,
    rows: usize,
    default: Vec<u8>,
    parse: P,
}

fn fixed(
    width: usize,
    parse: impl Fn(&[u8], usize, &mut Vec<u8>) -> Result<()> + Send + 'static,
) -> Box<dyn Scalars> {
    fixed_with(vec![0; width], parse)
}

fn fixed_with(
    default: Vec<u8>,
    parse: impl Fn(&[u8], usize, &mut Vec<u8>) -> Result<()> + Send + 'static,
) -> Box<dyn Scalars> {
    Box::new(Fixed { values: Vec::new(), width: default.len(), rows: 0, default, parse })
}

/// Appends a FixedString: `text` padded with zero bytes to `width`.
fn pad_to(text: &[u8], width: usize, out: &mut Vec<u8>) -> Result<()> {
    if text.len() > width {
        let what = format!("a string of {} bytes does not fit FixedString({width})", text.len());
        return Err(Error::new(ErrorCode::TooLargeStringSize, what));
    }
    out.extend_from_slice(text);
    out.resize(out.len() + width - text.len(), 0);
    Ok(())
}

impl<P: Fn(&[u8], usize, &mut Vec<u8>) -> Result<()> + Send> Scalars for Fixed<P> {
    fn push_text(&mut self, text: &[u8]) -> Result<()> {
        (self.parse)(text, self.width, &mut self.values)?;
        self.rows += 1;
        Ok(())
    }

    fn push_default(&mut self) {
        self.values.extend_from_slice(&self.default);
        self.rows += 1;
    }

    fn len(&self) -> usize {
        self.rows
    }

    fn truncate(&mut self, len: usize) {
        self.rows = self.rows.min(len);
        self.values.truncate(self.rows * self.width);
    }

    fn finish(&mut self, nulls: Option<NullBuffer>) -> ArrayRef {
        self.rows = 0;
        let values = std::mem::take(&mut self.values);
        Arc::new(FixedSizeBinaryArray::new(self.width as i32, values.into(), nulls))
    }
}

/// The type of NULL, which has no other value.
struct Nothing {
    rows: usize,
}

impl Scalars for Nothing {
    fn push_text(&mut self, text: &[u8]) -> Result<()> {
        Err(super::number::unreadable(text, "NULL, which is all that type Nothing holds"))
    }

    fn push_default(&mut self) {
        self.rows += 1;
    }

    fn len(&self) -> usize {
        self.rows
    }

    fn truncate(&mut self, len: usize) {
        self.rows = self.rows.min(len);
    }

    fn finish(&mut self, _: Option<NullBuffer>) -> ArrayRef {
        Arc::new(NullArray::new(std::mem::take(&mut self.rows)))
    }
}
