//! `equals`, `notEquals`, `less`, `lessOrEquals`, `greater`, `greaterOrEquals`: any two comparable values.
//!
//! Syntax: `less(a, b)`; 1 or 0 as UInt8. Numbers compare by value, whatever their types. A constant string is parsed
//! as the other side's type. Arrays and tuples compare element by element. NULL if an argument is NULL.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, UInt8Array, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt8Type, UInt64Type,
};
use basalt_base::types::common_type;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::place;
use crate::scalar::arithmetic::zip::{zip, zip_values};
use crate::scalar::conversion::{Converter, with_nulls};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::number::{Number, with_number};
use crate::scalar::operand::{nulls_of, rows_needed};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static EQUALS: Definition =
    Definition::new("equals", Arity::Exactly(2), |call| bind(call, Relation::Equal));

pub(super) static NOT_EQUALS: Definition =
    Definition::new("notEquals", Arity::Exactly(2), |call| bind(call, Relation::NotEqual));

pub(super) static LESS: Definition =
    Definition::new("less", Arity::Exactly(2), |call| bind(call, Relation::Less));

pub(super) static LESS_OR_EQUALS: Definition =
    Definition::new("lessOrEquals", Arity::Exactly(2), |call| bind(call, Relation::LessOrEqual));

pub(super) static GREATER: Definition =
    Definition::new("greater", Arity::Exactly(2), |call| bind(call, Relation::Greater));

pub(super) static GREATER_OR_EQUALS: Definition =
    Definition::new("greaterOrEquals", Arity::Exactly(2), |call| bind(call, Relation::GreaterOrEqual));

/// Inside arrays and maps NULL is a value: it equals itself and is greater than all others.
const NULLS_LAST: SortOptions = SortOptions { descending: false, nulls_first: false };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A comparison of two types.
pub(in crate::scalar) struct Comparison {
    relation: Relation,
    sides: [Converter; 2],
    /// The values of constants that were parsed from text.
    constants: [Option<ArrayRef>; 2],
    domain: Domain,
}

/// How the converted values are compared.
#[derive(Clone, Debug, PartialEq)]
enum Domain {
    /// Numbers of the carrier.
    Native(DataType),
    /// A UInt64 with a signed integer.
    Mixed,
    /// A 64-bit integer with a float.
    Floating,
    Text,
    /// A wide integer with another number: the types of both.
    Placed(Box<[SqlType; 2]>),
    /// Strings whose trailing zero bytes do not count.
    Padded,
    /// Types that Arrow orders like ClickHouse.
    Ordered,
    /// Nothing equals NULL.
    Never,
}

fn bind(call: &Call<'_>, relation: Relation) -> Result<Bound> {
    let comparison = Comparison::new(call, relation)?;
    Ok(Bound::new(SqlType::UInt8, move |args: &[Operand], rows| comparison.evaluate(args, rows)))
}

impl Comparison {
    /// Whether the two arguments of a call are equal.
    pub(in crate::scalar) fn equality(call: &Call<'_>) -> Result<Comparison> {
        Comparison::new(call, Relation::Equal)
    }

    fn new(call: &Call<'_>, relation: Relation) -> Result<Comparison> {
        let mut constants = [None, None];
        let mut types = [call.ty(0).stripped().clone(), call.ty(1).stripped().clone()];
        // A literal is parsed as the type of the other side.
        for (text, other) in [(0, 1), (1, 0)] {
            let is_read = types[text].is_string()
                && !types[other].is_string()
                && types[other] != SqlType::Nothing
                && !is_address_and(&types[other], &types[text])
                && (types[other].enum_number().is_none() || call.constant(text).is_some());
            if is_read {
                let value = call.constant(text).ok_or_else(|| call.illegal_types())?;
                let converter = Converter::new(&types[text], &types[other], call.context)?;
                let value = converter.convert(value).map_err(|error| match error.code() {
                    ErrorCode::CannotParseIpv4 | ErrorCode::CannotParseIpv6 => error,
                    _ => Error::new(ErrorCode::TypeMismatch, error.message().to_owned()),
                })?;
                constants[text] = Some(value);
                types[text] = types[other].clone();
                break;
            }
        }
        if types[0] != types[1] && !types.iter().any(SqlType::is_string) {
            types = types.map(|ty| ty.enum_number().unwrap_or(ty));
        }
        let (common, domain) = domain_of(&types[0], &types[1]).ok_or_else(|| call.illegal_types())?;
        let side = |ty: &SqlType| match &common {
            Some(common) => Converter::new(ty, common, call.context),
            None => Converter::new(ty, ty, call.context),
        };
        Ok(Comparison { relation, sides: [side(&types[0])?, side(&types[1])?], constants, domain })
    }

    /// 1, 0, or NULL if an operand is NULL.
    pub(in crate::scalar) fn evaluate(&self, args: &[Operand], rows: usize) -> Result<ArrayRef> {
        let rows = rows_needed(args, rows);
        let mut sides = Vec::with_capacity(2);
        for ((arg, converter), constant) in args.iter().zip(&self.sides).zip(&self.constants) {
            let operand = match constant {
                Some(value) => Operand { array: Arc::clone(value), constant: true },
                None => arg.clone(),
            };
            let array = converter.convert(&operand.array)?;
            sides.push(Operand { array, constant: operand.constant });
        }
        let values = self.compare(&sides, rows)?;
        let nulls = nulls_of(args, rows);
        Ok(with_nulls(&values, nulls.as_ref()))
    }

    fn compare(&self, sides: &[Operand], rows: usize) -> Result<ArrayRef> {
        let relation = self.relation;
        match &self.domain {
            Domain::Never => Ok(Arc::new(UInt8Array::from_value(0, rows))),
            Domain::Native(DataType::Decimal128(..)) => {
                let (left, right) =
                    (sides[0].primitives::<Decimal128Type>()?, sides[1].primitives::<Decimal128Type>()?);
                let values = zip_values(&left, &right, rows, |a, b| u8::from(relation.holds(a.cmp(&b))));
                Ok(Arc::new(UInt8Array::from(values)))
            }
            Domain::Native(DataType::Decimal256(..)) => {
                let (left, right) =
                    (sides[0].primitives::<Decimal256Type>()?, sides[1].primitives::<Decimal256Type>()?);
                let values = zip_values(&left, &right, rows, |a, b| u8::from(relation.holds(a.cmp(&b))));
                Ok(Arc::new(UInt8Array::from(values)))
            }
            Domain::Native(carrier) => {
                with_number!(carrier, T => compare_native::<T>(sides, rows, relation), {
                    Err(Error::logical(format!("{carrier} is not the carrier of a number")))
                })
            }
            Domain::Mixed => compare_mixed(sides, rows, relation),
            Domain::Floating => compare_floating(sides, rows, relation),
            Domain::Placed(types) => compare_placed(types, sides, rows, relation),
            Domain::Text => compare_text(sides, rows, relation, |text| text),
            Domain::Padded => compare_text(sides, rows, relation, without_padding),
            Domain::Ordered => {
                let (left, right) = (sides[0].full(rows)?, sides[1].full(rows)?);
                let order = make_comparator(&left, &right, NULLS_LAST).map_err(Error::logical)?;
                Ok(collect((0..rows).map(|row| relation.holds(order(row, row)))))
            }
        }
    }
}

impl Relation {
    #[inline(always)]
    fn holds(self, order: Ordering) -> bool {
        match self {
            Relation::Equal => order == Ordering::Equal,
            Relation::NotEqual => order != Ordering::Equal,
            Relation::Less => order == Ordering::Less,
            Relation::LessOrEqual => order != Ordering::Greater,
            Relation::Greater => order == Ordering::Greater,
            Relation::GreaterOrEqual => order != Ordering::Less,
        }
    }
}

/// The type that both sides are converted to (`None`: no conversion), and how its values compare.
fn domain_of(left: &SqlType, right: &SqlType) -> Option<(Option<SqlType>, Domain)> {
    if left == &SqlType::Nothing || right == &SqlType::Nothing {
        return Some((None, Domain::Never));
    }
    let is_name = |ty: &SqlType| ty.is_string() || ty.enum_number().is_some();
    if left.is_string() && right.is_string() {
        let is_plain = *left == SqlType::String && *right == SqlType::String;
        return Some((None, if is_plain { Domain::Text } else { Domain::Padded }));
    }
    if left != right && is_name(left) && is_name(right) {
        return Some((Some(SqlType::String), Domain::Text));
    }
    if left == right
        && matches!(left, SqlType::Enum8(_) | SqlType::Enum16(_) | SqlType::Ipv4 | SqlType::Interval(_))
    {
        return Some((None, Domain::Native(left.carrier())));
    }
    if left == right && matches!(left, SqlType::Uuid | SqlType::Ipv6 | SqlType::Wide(_)) {
        return Some((None, Domain::Ordered));
    }
    if is_address_and(left, right) || is_address_and(right, left) {
        return Some((Some(SqlType::Ipv6), Domain::Ordered));
    }
    if place::applies(left, right) {
        return Some((None, Domain::Placed(Box::new([left.clone(), right.clone()]))));
    }
    if left.is_number() && right.is_number() {
        return Some(number_domain(left, right));
    }
    let common = common_type([left, right])?;
    let domain = if common.is_date_or_time() { Domain::Native(common.carrier()) } else { Domain::Ordered };
    Some((Some(common), domain))
}

/// Whether a value of `other` is converted byte by byte to compare with an IPv6 address.
fn is_address_and(address: &SqlType, other: &SqlType) -> bool {
    *address == SqlType::Ipv6 && matches!(other, SqlType::Ipv4 | SqlType::FixedString(16))
}

fn number_domain(left: &SqlType, right: &SqlType) -> (Option<SqlType>, Domain) {
    if left.is_float() || right.is_float() {
        let is_large = |ty: &SqlType| matches!(ty, SqlType::Int64 | SqlType::UInt64);
        let domain = if is_large(left) || is_large(right) {
            Domain::Floating
        } else {
            Domain::Native(Float64Type::DATA_TYPE)
        };
        return (None, domain);
    }
    if let (SqlType::Bool, SqlType::Bool) = (left, right) {
        return (None, Domain::Native(UInt8Type::DATA_TYPE));
    }
    match common_type([left, right]) {
        Some(SqlType::Decimal { precision, scale }) => {
            // With room for the integer digits of the other side.
            let precision = if precision > 18 { 76 } else { 38 };
            let common = SqlType::Decimal { precision, scale };
            (Some(common.clone()), Domain::Native(common.carrier()))
        }
        Some(common) => (None, Domain::Native(common.carrier())),
        None => (None, Domain::Mixed),
    }
}

fn compare_native<T>(sides: &[Operand], rows: usize, relation: Relation) -> Result<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: Number + ArrowNativeTypeOp,
{
    match relation {
        Relation::Equal => zip::<T, UInt8Type>(sides, rows, |a, b| u8::from(a == b)),
        Relation::NotEqual => zip::<T, UInt8Type>(sides, rows, |a, b| u8::from(a != b)),
        Relation::Less => zip::<T, UInt8Type>(sides, rows, |a, b| u8::from(a < b)),
        Relation::LessOrEqual => zip::<T, UInt8Type>(sides, rows, |a, b| u8::from(a <= b)),
        Relation::Greater => zip::<T, UInt8Type>(sides, rows, |a, b| u8::from(a > b)),
        Relation::GreaterOrEqual => zip::<T, UInt8Type>(sides, rows, |a, b| u8::from(a >= b)),
    }
}

fn compare_mixed(sides: &[Operand], rows: usize, relation: Relation) -> Result<ArrayRef> {
    let unsigned_left = *sides[0].array.data_type() == DataType::UInt64;
    let (unsigned, signed) = if unsigned_left { (&sides[0], &sides[1]) } else { (&sides[1], &sides[0]) };
    let (unsigned, signed) = (unsigned.numbers::<UInt64Type>()?, signed.numbers::<Int64Type>()?);
    Ok(collect((0..rows).map(|row| {
        let order = i128::from(unsigned.get(row)).cmp(&i128::from(signed.get(row)));
        relation.holds(if unsigned_left { order } else { order.reverse() })
    })))
}

fn compare_placed(
    types: &[SqlType; 2],
    sides: &[Operand],
    rows: usize,
    relation: Relation,
) -> Result<ArrayRef> {
    let (left, right) =
        (place::places(&types[0], &sides[0].array)?, place::places(&types[1], &sides[1].array)?);
    Ok(collect((0..rows).map(|row| {
        let (left, right) = (left[sides[0].index(row)], right[sides[1].index(row)]);
        place::order(left, right).map_or(relation == Relation::NotEqual, |order| relation.holds(order))
    })))
}

/// NaN is unequal to every number, and neither less nor greater.
fn compare_floating(sides: &[Operand], rows: usize, relation: Relation) -> Result<ArrayRef> {
    let float_left = sides[0].array.data_type().is_floating();
    let (float, whole) = if float_left { (&sides[0], &sides[1]) } else { (&sides[1], &sides[0]) };
    let float = float.numbers::<Float64Type>()?;
    let holds = |order: Option<Ordering>| match order {
        Some(order) => relation.holds(if float_left { order } else { order.reverse() }),
        None => relation == Relation::NotEqual,
    };
    if *whole.array.data_type() == DataType::UInt64 {
        let whole = whole.numbers::<UInt64Type>()?;
        return Ok(collect((0..rows).map(|row| holds(order_of(float.get(row), whole.get(row).into())))));
    }
    let whole = whole.numbers::<Int64Type>()?;
    Ok(collect((0..rows).map(|row| holds(order_of(float.get(row), whole.get(row).into())))))
}

/// Compares a float with a 64-bit integer.
fn order_of(float: f64, whole: i128) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // Beyond 64 bits the cast preserves the order.
    Some((float.floor() as i128).cmp(&whole).then(if float.fract() > 0.0 || float.fract() < 0.0 {
        Ordering::Greater
    } else {
        Ordering::Equal
    }))
}

fn without_padding(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &text[..end]
}

fn compare_text(
    sides: &[Operand],
    rows: usize,
    relation: Relation,
    trim: impl Fn(&[u8]) -> &[u8],
) -> Result<ArrayRef> {
    let (left, right) = (sides[0].bytes()?, sides[1].bytes()?);
    let order = |row| trim(left.get(row)).cmp(trim(right.get(row)));
    Ok(match relation {
        Relation::Equal => collect((0..rows).map(|row| trim(left.get(row)) == trim(right.get(row)))),
        Relation::NotEqual => collect((0..rows).map(|row| trim(left.get(row)) != trim(right.get(row)))),
        _ => collect((0..rows).map(|row| relation.holds(order(row)))),
    })
}

fn collect(flags: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(UInt8Array::from_iter_values(flags.map(u8::from)))
}
