//! `groupBitAnd`, `groupBitOr`, `groupBitXor`: the integers of a group combined bit by bit.

use std::ops::{BitAnd, BitOr, BitXor, Not};
use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{
    DataType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use basalt_base::types::U256;
use basalt_base::{Result, SqlType};

use super::{AggregateFunction, BoundStates, EmitTo, GroupedRows, Parameter, States, StatesFactory};
use super::{illegal_type, no_parameters, only_arg};

pub(super) static GROUP_BIT_AND: Bitwise =
    Bitwise { name: "groupBitAnd", aliases: &["BIT_AND"], op: BitOp::And };
pub(super) static GROUP_BIT_OR: Bitwise = Bitwise { name: "groupBitOr", aliases: &["BIT_OR"], op: BitOp::Or };
pub(super) static GROUP_BIT_XOR: Bitwise =
    Bitwise { name: "groupBitXor", aliases: &["BIT_XOR"], op: BitOp::Xor };

pub(super) struct Bitwise {
    name: &'static str,
    aliases: &'static [&'static str],
    op: BitOp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BitOp {
    And,
    Or,
    Xor,
}

impl AggregateFunction for Bitwise {
    fn name(&self) -> &'static str {
        self.name
    }

    fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }

    fn bind(&self, parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        no_parameters(self.name, parameters)?;
        let arg = only_arg(self.name, args)?;
        let op = self.op;
        if let Some(wide) = arg.wide() {
            return Ok(super::wide::fold(wide, op.of_wide(), op == BitOp::And));
        }
        let states: StatesFactory = match arg.carrier() {
            _ if !arg.is_integer() => return Err(illegal_type(self.name, arg)),
            DataType::UInt8 => Box::new(move || Box::new(BitStates::<UInt8Type>::new(op))),
            DataType::UInt16 => Box::new(move || Box::new(BitStates::<UInt16Type>::new(op))),
            DataType::UInt32 => Box::new(move || Box::new(BitStates::<UInt32Type>::new(op))),
            DataType::UInt64 => Box::new(move || Box::new(BitStates::<UInt64Type>::new(op))),
            DataType::Int8 => Box::new(move || Box::new(BitStates::<Int8Type>::new(op))),
            DataType::Int16 => Box::new(move || Box::new(BitStates::<Int16Type>::new(op))),
            DataType::Int32 => Box::new(move || Box::new(BitStates::<Int32Type>::new(op))),
            DataType::Int64 => Box::new(move || Box::new(BitStates::<Int64Type>::new(op))),
            _ => return Err(illegal_type(self.name, arg)),
        };
        Ok(BoundStates { return_type: arg.clone(), state_types: vec![arg.clone()], states })
    }
}

impl BitOp {
    fn of_wide(self) -> fn(U256, U256) -> U256 {
        match self {
            BitOp::And => |a, b| a & b,
            BitOp::Or => |a, b| a | b,
            BitOp::Xor => |a, b| a ^ b,
        }
    }
}

trait Bits:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}
impl<N> Bits for N where
    N: Copy + BitAnd<Output = N> + BitOr<Output = N> + BitXor<Output = N> + Not<Output = N>
{
}

struct BitStates<T: ArrowPrimitiveType> {
    groups: Vec<T::Native>,
    op: BitOp,
}

impl<T: ArrowPrimitiveType<Native: Bits>> BitStates<T> {
    fn new(op: BitOp) -> BitStates<T> {
        BitStates { groups: Vec::new(), op }
    }

    fn add(&mut self, values: &ArrayRef, rows: &GroupedRows<'_>) {
        let (groups, values) = (&mut self.groups, values.as_primitive::<T>().values());
        match self.op {
            BitOp::And => rows.for_each_value(values, |group, value| groups[group] = groups[group] & value),
            BitOp::Or => rows.for_each_value(values, |group, value| groups[group] = groups[group] | value),
            BitOp::Xor => rows.for_each_value(values, |group, value| groups[group] = groups[group] ^ value),
        }
    }
}

impl<T: ArrowPrimitiveType<Native: Bits>> States for BitStates<T> {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(BitStates::<T>::new(self.op))
    }

    fn grow(&mut self, groups: usize) {
        let zero = T::Native::default();
        self.groups.resize(groups, if self.op == BitOp::And { !zero } else { zero });
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        self.add(&args[0], rows);
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        self.add(&states[0], rows);
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let groups = emit.take_needed(&mut self.groups);
        Ok(Arc::new(PrimitiveArray::<T>::new(groups.into(), None)))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit)?])
    }

    fn bytes(&self) -> usize {
        size_of_val(self) + self.groups.capacity() * size_of::<T::Native>()
    }
}
