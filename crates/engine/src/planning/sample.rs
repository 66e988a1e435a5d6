//! SAMPLE: a share of a table's rows, by a range of the sampling key.
//!
//! The key is an unsigned number that spreads rows evenly. A sample of a tenth is the rows whose key is in
//! the first tenth of all values of its type; so the same share of two tables with the same key is of the
//! same keys. A number above one is a count of rows, and becomes a share of all rows.

use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use basalt_sql::ast::{BinaryOp, Expr, Literal};

use crate::tables::{Table, parts_of};

/// The most decimal digits of a ratio that count.
const DIGITS_MAX: usize = 18;

/// A share as a fraction in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ratio {
    numerator: u128,
    denominator: u128,
}

/// The sample of a table that a query reads.
pub(crate) struct Sample {
    /// The condition on the sampling key; `None` for all rows.
    pub(crate) filter: Option<Expr>,
    /// How many rows of the table one row represents.
    pub(crate) factor: f64,
}

impl Default for Sample {
    /// All rows.
    fn default() -> Sample {
        Sample { filter: None, factor: 1.0 }
    }
}

impl Sample {
    /// `SAMPLE ratio [OFFSET offset]`.
    pub(crate) fn of(table: &dyn Table, ratio: &Expr, offset: Option<&Expr>) -> Result<Sample> {
        let definition = table.definition();
        let Some(key) = &definition.create.sample_by else {
            bail!(SamplingNotSupported, "table `{}` has no SAMPLE BY", definition.full_name());
        };
        let values = values_of(table, key)?;
        let rows = u128::from(table.total_rows().unwrap_or(0));
        let size = Ratio::parse(ratio)?.share_of(rows)?;
        let offset = match offset {
            Some(offset) => Ratio::parse(offset)?.share_of(rows)?,
            None => Ratio { numerator: 0, denominator: 1 },
        };
        if size.numerator == 0 {
            return Ok(Sample::default());
        }
        let filter = sample_filter(key, values, size, offset)?;
        Ok(Sample { filter, factor: size.denominator as f64 / size.numerator as f64 })
    }
}

/// The condition that the key is among the `size` of all `values` after the first `offset`.
fn sample_filter(key: &Expr, values: u128, size: Ratio, offset: Ratio) -> Result<Option<Expr>> {
    let (low, high) = (offset.of(values)?, offset.plus(size)?.of(values)?);
    let mut conditions = Vec::new();
    if low > 0 {
        conditions.push(compared(key, BinaryOp::GreaterOrEquals, low.min(values - 1)));
    }
    if low >= values {
        conditions.push(compared(key, BinaryOp::Less, 0));
    } else if high < values {
        conditions.push(compared(key, BinaryOp::Less, high));
    }
    let both = |left: Expr, right: Expr| Expr::Binary {
        op: BinaryOp::And,
        left: Box::new(left),
        right: Box::new(right),
    };
    Ok(conditions.into_iter().reduce(both))
}

/// How many values the type of the sampling key has.
fn values_of(table: &dyn Table, key: &Expr) -> Result<u128> {
    let (clauses, _) = table.definition().sort_key()?;
    let position = clauses.iter().position(|clause| clause.expr == *key);
    let types = parts_of(table).map(|parts| parts.spec().sort_types()).unwrap_or_default();
    let bits = match position.and_then(|position| types.get(position)) {
        Some(SqlType::UInt8) => 8,
        Some(SqlType::UInt16) => 16,
        Some(SqlType::UInt32) => 32,
        Some(SqlType::UInt64) => 64,
        _ => return Err(Error::logical("the sampling key is an unsigned number of the sorting key")),
    };
    Ok(1 << bits)
}

fn compared(key: &Expr, op: BinaryOp, value: u128) -> Expr {
    let value = Expr::Literal(Literal::UInt(u64::try_from(value).unwrap_or(u64::MAX)));
    Expr::Binary { op, left: Box::new(key.clone()), right: Box::new(value) }
}

impl Ratio {
    /// `0.1`, `1/10`, `1000`.
    fn parse(expr: &Expr) -> Result<Ratio> {
        match expr {
            Expr::Literal(Literal::UInt(value)) => Ratio::new(u128::from(*value), 1),
            Expr::Literal(Literal::Number(text)) => Ratio::decimal(text),
            Expr::Binary { op: BinaryOp::Divide, left, right } => {
                let (left, right) = (Ratio::parse(left)?, Ratio::parse(right)?);
                Ratio::new(
                    product(left.numerator, right.denominator)?,
                    product(left.denominator, right.numerator)?,
                )
            }
            other => bail!(SyntaxError, "`{other}` is no share of rows for SAMPLE: 0.1, 1/10 and 1000 are"),
        }
    }

    fn decimal(text: &str) -> Result<Ratio> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{fraction}");
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.is_empty();
        if !is_plain || digits.len() > DIGITS_MAX {
            bail!(SyntaxError, "`{text}` is no share of rows for SAMPLE: 0.1, 1/10 and 1000 are");
        }
        let numerator = digits.parse().map_err(Error::logical)?;
        Ratio::new(numerator, 10_u128.pow(fraction.len() as u32))
    }

    fn new(numerator: u128, denominator: u128) -> Result<Ratio> {
        if denominator == 0 {
            bail!(ArgumentOutOfBound, "a share of rows for SAMPLE is divided by zero");
        }
        let common = greatest_common_divisor(numerator, denominator);
        Ok(Ratio { numerator: numerator / common, denominator: denominator / common })
    }

    /// A number above one is a count among `rows`.
    fn share_of(self, rows: u128) -> Result<Ratio> {
        if self.numerator <= self.denominator {
            return Ok(self);
        }
        let share = Ratio::new(self.numerator, product(self.denominator, rows.max(1))?)?;
        if share.numerator > share.denominator { Ratio::new(1, 1) } else { Ok(share) }
    }

    fn plus(self, other: Ratio) -> Result<Ratio> {
        let left = product(self.numerator, other.denominator)?;
        let right = product(other.numerator, self.denominator)?;
        let sum = left.checked_add(right).ok_or_else(too_fine)?;
        Ratio::new(sum, product(self.denominator, other.denominator)?)
    }

    /// The share of `values`, rounded down.
    fn of(self, values: u128) -> Result<u128> {
        Ok(product(values, self.numerator)? / self.denominator)
    }
}

fn greatest_common_divisor(mut left: u128, mut right: u128) -> u128 {
    while right > 0 {
        (left, right) = (right, left % right);
    }
    left
}

fn product(left: u128, right: u128) -> Result<u128> {
    left.checked_mul(right).ok_or_else(too_fine)
}

fn too_fine() -> Error {
    Error::new(ErrorCode::ArgumentOutOfBound, "a share of rows for SAMPLE has too many digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, rows: u128, numerator: u128, denominator: u128) {
        let expr = basalt_sql::parse_expr(text.as_bytes()).unwrap();
        let share = Ratio::parse(&expr).and_then(|ratio| ratio.share_of(rows)).unwrap();
        assert_eq!(share, Ratio { numerator, denominator }, "{text}");
    }

    #[test]
    fn shares_are_fractions_or_counts_of_rows() {
        check("0.1", 0, 1, 10);
        check("3/30", 0, 1, 10);
        check("1", 50, 1, 1);
        check("25", 100, 1, 4);
        check("500", 100, 1, 1);
    }
}
