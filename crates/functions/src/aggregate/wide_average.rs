//! `avg` over integers of 128 and 256 bits: as in ClickHouse, the sum wraps at the width of the type.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, UInt64Array};
use arrow::datatypes::UInt64Type;
use basalt_base::types::{U256, Wide};
use basalt_base::{Result, SqlType};

use super::{BoundStates, EmitTo, GroupedRows, States};
use crate::scalar::whole::{collect_wide, wholes_of};

pub(super) fn bind(wide: Wide) -> BoundStates {
    let state_types = vec![SqlType::Wide(wide), SqlType::UInt64];
    BoundStates::new(SqlType::Float64, state_types, move || Averages { wide, groups: Vec::new() })
}

/// The sum and the count of each group.
struct Averages {
    wide: Wide,
    groups: Vec<(U256, u64)>,
}

impl States for Averages {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(Averages { wide: self.wide, groups: Vec::new() })
    }

    fn grow(&mut self, groups: usize) {
        self.groups.resize(groups, (U256::ZERO, 0));
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let wholes = wholes_of(&SqlType::Wide(self.wide), &args[0])?;
        rows.for_each(|row, group| {
            let (sum, count) = &mut self.groups[group];
            *sum = sum.wrapping_add(wholes[row].bits());
            *count += 1;
        });
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let sums = wholes_of(&SqlType::Wide(self.wide), &states[0])?;
        let counts = states[1].as_primitive::<UInt64Type>().values();
        rows.for_each(|row, group| {
            let (sum, count) = &mut self.groups[group];
            *sum = sum.wrapping_add(sums[row].bits());
            *count += counts[row];
        });
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let wide = self.wide;
        let groups = emit.take_needed(&mut self.groups).into_iter();
        // 0 / 0 is NaN, the average of no rows.
        let averages = groups.map(|(sum, count)| wide.wrap(sum).to_f64() / count as f64);
        Ok(Arc::new(Float64Array::from_iter_values(averages)))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (sums, counts): (Vec<U256>, Vec<u64>) = emit.take_needed(&mut self.groups).into_iter().unzip();
        Ok(vec![collect_wide(self.wide, sums.into_iter())?, Arc::new(UInt64Array::from(counts))])
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.groups.capacity() * size_of::<(U256, u64)>()
    }
}
