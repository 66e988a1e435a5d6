//! Paths to a value inside a document: names of entries, and positions counted from 1, or from the end if negative.

use arrow::datatypes::Int64Type;
use basalt_base::{ErrorCode, Result};

use super::document::Json;
use crate::scalar::Operand;
use crate::scalar::definition::Call;
use crate::scalar::operand::{Bytes, Numbers, rows_needed};

/// Arguments `from..to` must be names or positions, the first argument a string.
pub(super) fn expect_path(call: &Call<'_>, to: usize) -> Result<()> {
    call.expect_string(0)?;
    (0..to.max(1)).try_for_each(|index| call.refuse_fixed_string(index, ErrorCode::IllegalTypeOfArgument))?;
    (1..to).try_for_each(|index| match call.expect_string(index) {
        Ok(()) => Ok(()),
        Err(_) => call.expect_integer(index),
    })
}

/// Calls `found` for every row with the value at the path, if there is one.
pub(super) fn for_each_found(
    args: &[Operand],
    rows: usize,
    mut found: impl FnMut(Option<&Json>) -> Result<()>,
) -> Result<()> {
    let texts = args[0].bytes()?;
    let steps = args[1..].iter().map(Step::of).collect::<Result<Vec<_>>>()?;
    for row in 0..rows_needed(args, rows) {
        let document = Json::parse(texts.get(row));
        let mut at = document.as_ref();
        for step in &steps {
            at = at.and_then(|value| step.follow(value, row));
        }
        found(at)?;
    }
    Ok(())
}

enum Step<'a> {
    Name(Bytes<'a>),
    Position(Numbers<Int64Type>),
}

impl<'a> Step<'a> {
    fn of(operand: &'a Operand) -> Result<Step<'a>> {
        match operand.bytes() {
            Ok(names) => Ok(Step::Name(names)),
            Err(_) => operand.numbers().map(Step::Position),
        }
    }

    fn follow<'v>(&self, value: &'v Json, row: usize) -> Option<&'v Json> {
        match (self, value) {
            (Step::Name(names), Json::Object(entries)) => {
                let wanted = names.get(row);
                entries.iter().find(|(name, _)| name == wanted).map(|(_, value)| value)
            }
            (Step::Position(positions), Json::Array(elements)) => {
                elements.get(index(positions.get(row), elements.len())?)
            }
            (Step::Position(positions), Json::Object(entries)) => {
                entries.get(index(positions.get(row), entries.len())?).map(|(_, value)| value)
            }
            _ => None,
        }
    }
}

fn index(position: i64, len: usize) -> Option<usize> {
    match position {
        0 => None,
        1.. => usize::try_from(position - 1).ok(),
        _ => len.checked_sub(usize::try_from(position.unsigned_abs()).ok()?),
    }
}
