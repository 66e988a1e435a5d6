//! The aggregate of arguments that are always NULL: NULL.

use arrow::array::{ArrayRef, new_null_array};
use arrow::datatypes::DataType;
use basalt_base::{Result, SqlType};

use super::{BoundStates, EmitTo, GroupedRows, States};

/// Only counts groups.
struct NothingStates {
    groups: usize,
}

pub(super) fn bind() -> BoundStates {
    let ty = SqlType::Nothing.into_nullable();
    BoundStates::new(ty.clone(), vec![ty], || NothingStates { groups: 0 })
}

impl States for NothingStates {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(NothingStates { groups: 0 })
    }

    fn grow(&mut self, groups: usize) {
        self.groups = groups;
    }

    fn update(&mut self, _args: &[ArrayRef], _rows: &GroupedRows<'_>) -> Result<()> {
        Ok(())
    }

    fn merge(&mut self, _states: &[ArrayRef], _rows: &GroupedRows<'_>) -> Result<()> {
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let emitted = match emit {
            EmitTo::All => self.groups,
            EmitTo::First(count) => count,
        };
        self.groups -= emitted;
        Ok(new_null_array(&DataType::Null, emitted))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit)?])
    }

    fn bytes(&self) -> usize {
        size_of_val(self)
    }
}
