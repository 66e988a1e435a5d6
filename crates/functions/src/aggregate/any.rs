//! `any`, `anyLast`: the first and the last value of a group.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use basalt_base::{Error, Result, SqlType};

use super::slots::Slots;
use super::{AggregateFunction, BoundStates, EmitTo, GroupedRows, Parameter, States};
use super::{no_parameters, only_arg};

pub(super) static ANY: Any =
    Any { name: "any", aliases: &["any_value", "first_value", "anyValue", "firstValue"], keeps_first: true };
pub(super) static ANY_LAST: Any =
    Any { name: "anyLast", aliases: &["last_value", "lastValue"], keeps_first: false };

pub(super) struct Any {
    name: &'static str,
    aliases: &'static [&'static str],
    keeps_first: bool,
}

impl AggregateFunction for Any {
    fn name(&self) -> &'static str {
        self.name
    }

    fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }

    fn case_insensitive(&self) -> bool {
        true
    }

    fn depends_on_order(&self) -> bool {
        true
    }

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        no_parameters(self.name, parameters)?;
        let arg = only_arg(self.name, args)?.clone();
        let keeps_first = self.keeps_first;
        Ok(BoundStates::new(arg.clone(), vec![arg.clone(), SqlType::Bool], move || AnyStates {
            slots: Slots::new(arg.clone()),
            keeps_first,
            places: Vec::new(),
        }))
    }
}

struct AnyStates {
    slots: Slots,
    keeps_first: bool,
    /// Reused between blocks to save the allocation.
    places: Vec<(usize, usize)>,
}

impl AnyStates {
    fn put(&mut self, values: &ArrayRef, rows: &GroupedRows<'_>) -> Result<()> {
        let places = &mut self.places;
        places.clear();
        if self.keeps_first {
            let slots = &mut self.slots;
            rows.for_each(|row, group| {
                if slots.claim(group) {
                    places.push((row, group));
                }
            });
        } else if rows.has_only_group() {
            let mut last = None;
            rows.for_each(|row, group| last = Some((row, group)));
            places.extend(last);
        } else {
            rows.for_each(|row, group| places.push((row, group)));
        }
        self.slots.put(values, places)
    }
}

impl States for AnyStates {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(AnyStates { slots: self.slots.fresh(), keeps_first: self.keeps_first, places: Vec::new() })
    }

    fn grow(&mut self, groups: usize) {
        self.slots.grow(groups);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        if self.keeps_first && rows.has_only_group() && self.slots.is_seen(0) {
            return Ok(());
        }
        self.put(&args[0], rows)
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let [values, seen] = states else {
            return Err(Error::logical("the state of any has two columns"));
        };
        self.put(values, &rows.with_keeps(Some(seen.as_boolean().values())))
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        Ok(self.slots.take(emit)?.0)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (values, seen) = self.slots.take(emit)?;
        Ok(vec![values, Arc::new(seen)])
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.slots.bytes() + self.places.capacity() * size_of::<(usize, usize)>()
    }
}
