//! `sum`, `groupBitAnd` and the like over integers of 128 and 256 bits: results wrap at the width of the type.

use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::types::{U256, Wide};
use basalt_base::{Result, SqlType};

use super::{BoundStates, EmitTo, GroupedRows, States};
use crate::scalar::whole::{collect_wide, floats_of, wholes_of};

/// The values of each group combined by `f`, from no bits at all or from all of them.
pub(super) fn fold(wide: Wide, f: fn(U256, U256) -> U256, from_all_bits: bool) -> BoundStates {
    let ty = SqlType::Wide(wide);
    let first = if from_all_bits { U256::MAX } else { U256::ZERO };
    BoundStates::new(ty.clone(), vec![ty], move || Folds { wide, f, first, groups: Vec::new() })
}

struct Folds {
    wide: Wide,
    f: fn(U256, U256) -> U256,
    first: U256,
    groups: Vec<U256>,
}

impl States for Folds {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(Folds { groups: Vec::new(), ..*self })
    }

    fn grow(&mut self, groups: usize) {
        self.groups.resize(groups, self.first);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let wholes = wholes_of(&SqlType::Wide(self.wide), &args[0])?;
        let (f, groups) = (self.f, &mut self.groups);
        rows.for_each(|row, group| groups[group] = f(groups[group], wholes[row].bits()));
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        self.update(states, rows)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        collect_wide(self.wide, emit.take_needed(&mut self.groups).into_iter())
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit)?])
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.groups.capacity() * size_of::<U256>()
    }
}

/// `bound`, which takes floats, over wide integers.
pub(super) fn as_floats(wide: Wide, bound: BoundStates) -> BoundStates {
    let BoundStates { return_type, state_types, states } = bound;
    BoundStates {
        return_type,
        state_types,
        states: Box::new(move || Box::new(Floats { wide, inner: states() })),
    }
}

struct Floats {
    wide: Wide,
    inner: Box<dyn States>,
}

impl States for Floats {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(Floats { wide: self.wide, inner: self.inner.fresh() })
    }

    fn grow(&mut self, groups: usize) {
        self.inner.grow(groups);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let floats: ArrayRef = Arc::new(floats_of(&SqlType::Wide(self.wide), &args[0])?);
        self.inner.update(&[floats], rows)
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        self.inner.merge(states, rows)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.inner.evaluate(emit)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit)
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.inner.bytes()
    }
}
