//! The arguments in the parentheses after the name of a type.

use std::ops::RangeInclusive;
use std::sync::Arc;

use basalt_base::types::DECIMAL256_DIGITS;
use basalt_base::zone::Zone;
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};

use crate::ast::{Literal, TypeArgument, TypeName};

/// Digits of a `Decimal` without a precision.
const DEFAULT_DECIMAL_DIGITS: u8 = 10;
/// Digits of a second in a `DateTime64` without a precision.
const DEFAULT_TIME_DIGITS: u8 = 3;
/// Digits of a second in the finest `DateTime64`.
const TIME_DIGITS_MAX: u64 = 9;
/// Bytes of the longest `FixedString`.
const FIXED_STRING_MAX: u64 = 0xff_ffff;

/// The arguments of the type `name`.
pub(super) struct Parameters<'a> {
    pub(super) name: &'static str,
    pub(super) args: &'a [TypeArgument],
}

impl<'a> Parameters<'a> {
    /// The one argument, which is a type.
    pub(super) fn single_type(&self) -> Result<&'a TypeName> {
        match self.args {
            [TypeArgument::Type(ty)] => Ok(ty),
            _ => bail!(
                NumberOfArgumentsDoesntMatch,
                "data type {} must have exactly one argument, a type",
                self.name
            ),
        }
    }

    fn at_most(&self, count: usize) -> Result<()> {
        if self.args.len() > count {
            bail!(
                NumberOfArgumentsDoesntMatch,
                "data type {} takes at most {count} arguments, but has {}",
                self.name,
                self.args.len()
            );
        }
        Ok(())
    }

    /// The whole number at `index`, which must be within the bounds; `None` if it is left out. Fails with `code` if
    /// the argument is not a whole number, and as out of bounds if the number is too large.
    fn number(
        &self,
        index: usize,
        what: &str,
        code: ErrorCode,
        bounds: RangeInclusive<u64>,
    ) -> Result<Option<u64>> {
        let Some(argument) = self.args.get(index) else {
            return Ok(None);
        };
        match argument {
            TypeArgument::Literal(Literal::UInt(number)) if bounds.contains(number) => Ok(Some(*number)),
            other => {
                let (least, most) = bounds.into_inner();
                let is_large =
                    matches!(other, TypeArgument::Literal(Literal::UInt(number)) if *number > most);
                let code = if is_large { ErrorCode::ArgumentOutOfBound } else { code };
                let name = self.name;
                let what =
                    format!("the {what} of data type {name} must be a number between {least} and {most}");
                Err(Error::new(code, what))
            }
        }
    }

    pub(super) fn optional_zone(&self, index: usize) -> Result<Option<Arc<str>>> {
        self.at_most(index + 1)?;
        match self.args.get(index) {
            None => Ok(None),
            Some(TypeArgument::Literal(Literal::String(zone))) if !zone.is_empty() => {
                match std::str::from_utf8(zone) {
                    Ok(zone) => Zone::parse(zone).map(|_| Some(zone.into())),
                    Err(_) => bail!(BadArguments, "the name of a time zone must be valid UTF-8"),
                }
            }
            // `TIMESTAMP(6)` and `DATETIME(0)`: the digits of other dialects have no effect here.
            Some(TypeArgument::Literal(Literal::UInt(_))) if index == 0 => Ok(None),
            Some(_) => bail!(BadArguments, "the time zone of data type {} must be a string", self.name),
        }
    }

    pub(super) fn fixed_string(&self) -> Result<SqlType> {
        self.at_most(1)?;
        match self.number(0, "length", ErrorCode::UnexpectedAstStructure, 1..=FIXED_STRING_MAX)? {
            Some(bytes) => Ok(SqlType::FixedString(narrow(bytes))),
            None => bail!(
                NumberOfArgumentsDoesntMatch,
                "data type FixedString must have exactly one argument, the size in bytes"
            ),
        }
    }

    pub(super) fn date_time64(&self) -> Result<SqlType> {
        self.at_most(2)?;
        let precision = self
            .number(0, "precision", ErrorCode::IllegalTypeOfArgument, 0..=TIME_DIGITS_MAX)?
            .map_or(DEFAULT_TIME_DIGITS, narrow);
        Ok(SqlType::DateTime64 { precision, zone: self.optional_zone(1)? })
    }

    pub(super) fn decimal(&self) -> Result<SqlType> {
        self.at_most(2)?;
        let most = u64::from(DECIMAL256_DIGITS);
        let precision = self
            .number(0, "precision", ErrorCode::ArgumentOutOfBound, 1..=most)?
            .map_or(DEFAULT_DECIMAL_DIGITS, narrow);
        let scale = self
            .number(1, "scale", ErrorCode::ArgumentOutOfBound, 0..=u64::from(precision))?
            .map_or(0, narrow);
        Ok(SqlType::Decimal { precision, scale })
    }

    /// `Decimal64(scale)`.
    pub(super) fn sized_decimal(&self, precision: u8) -> Result<SqlType> {
        self.at_most(1)?;
        match self.number(0, "scale", ErrorCode::ArgumentOutOfBound, 0..=u64::from(precision))? {
            Some(scale) => Ok(SqlType::Decimal { precision, scale: narrow(scale) }),
            None => bail!(
                NumberOfArgumentsDoesntMatch,
                "data type {} must have exactly one argument, the scale",
                self.name
            ),
        }
    }

    /// `Enum8('a' = 1, 'b')`: a value left out is one more than the value before, 1 for the first.
    pub(super) fn enumeration(&self) -> Result<SqlType> {
        let mut values: Vec<(String, i64)> = Vec::with_capacity(self.args.len());
        for argument in self.args {
            let TypeArgument::EnumValue(label, value) = argument else {
                bail!(
                    BadArguments,
                    "the elements of data type {} are of the form 'name' = number",
                    self.name
                );
            };
            let next = values.last().map_or(1, |(_, last)| last.saturating_add(1));
            values.push((label.clone(), value.unwrap_or(next)));
        }
        if values.is_empty() {
            bail!(BadArguments, "data type {} cannot be empty", self.name);
        }
        // The first label is the default: values are kept in their own order, as ClickHouse prints them.
        values.sort_by_key(|(_, value)| *value);
        self.refuse_repetition(&values)?;
        self.sized_enumeration(&values)
    }

    fn refuse_repetition(&self, values: &[(String, i64)]) -> Result<()> {
        let mut labels = std::collections::HashSet::new();
        for (index, (label, value)) in values.iter().enumerate() {
            let repeated_value = index > 0 && values[index - 1].1 == *value;
            if repeated_value || !labels.insert(label) {
                bail!(SyntaxError, "duplicate name or value in enum: '{label}' = {value}");
            }
        }
        Ok(())
    }

    /// `Enum` takes the smaller size that holds all of its values.
    fn sized_enumeration(&self, values: &[(String, i64)]) -> Result<SqlType> {
        if self.name != "Enum16"
            && let Some(values) = fit(values)
        {
            return Ok(SqlType::Enum8(values.into()));
        }
        if self.name != "Enum8"
            && let Some(values) = fit(values)
        {
            return Ok(SqlType::Enum16(values.into()));
        }
        bail!(ArgumentOutOfBound, "a value of the enum is out of range of data type {}", self.name)
    }
}

/// The values as `T`, if all of them fit.
fn fit<T: TryFrom<i64>>(values: &[(String, i64)]) -> Option<Vec<(String, T)>> {
    values.iter().map(|(label, value)| Some((label.clone(), T::try_from(*value).ok()?))).collect()
}

/// A number whose bounds were checked.
fn narrow<T: TryFrom<u64>>(number: u64) -> T {
    T::try_from(number).ok().expect("the bounds of the parameter fit the type")
}
