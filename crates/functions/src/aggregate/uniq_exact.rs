//! `uniqExact`: the exact number of distinct values. `uniq` and `uniqCombined`, which are estimates in ClickHouse,
//! are exact, too.
//!
//! One argument of up to 64 bits is stored as it is; other types and several arguments are stored as 128-bit hashes.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, FixedSizeBinaryArray, UInt64Array};
use arrow::datatypes::UInt64Type;
use basalt_base::{Result, SqlType};

use super::hash128::{hash_rows, narrow_keys};
use super::key::Key;
use super::key_sets::KeySets;
use super::lists::{as_lists, for_each_element, lists};
use super::wrong_arity;
use super::{AggregateFunction, BoundStates, EmitTo, GroupedRows, NullRule, Parameter, States};

pub(super) static UNIQ_EXACT: Uniq = Uniq { name: "uniqExact" };
pub(super) static UNIQ: Uniq = Uniq { name: "uniq" };
pub(super) static UNIQ_COMBINED: Uniq = Uniq { name: "uniqCombined" };

const HASH_BYTES: usize = size_of::<u128>();

pub(super) struct Uniq {
    name: &'static str,
}

impl AggregateFunction for Uniq {
    fn name(&self) -> &'static str {
        self.name
    }

    fn nulls(&self) -> NullRule {
        NullRule::SkipOrEmpty
    }

    fn sees_only_equality(&self) -> bool {
        true
    }

    fn bind(&self, _parameters: &[Parameter], args: &[SqlType]) -> Result<BoundStates> {
        if args.is_empty() {
            return Err(wrong_arity(self.name, "at least one argument", 0));
        }
        let narrow = match args {
            [arg] => narrow_keys(&arg.default_array(0)).is_some(),
            _ => false,
        };
        Ok(if narrow {
            let state = SqlType::array_of(SqlType::UInt64);
            BoundStates::new(SqlType::UInt64, vec![state], || UniqStates { sets: KeySets::<u64>::new() })
        } else {
            let state = SqlType::array_of(SqlType::FixedString(HASH_BYTES));
            BoundStates::new(SqlType::UInt64, vec![state], || UniqStates { sets: KeySets::<u128>::new() })
        })
    }
}

/// A key that is read from arguments and stored in states.
trait StateKey: Key + Sized {
    fn of_args(args: &[ArrayRef]) -> Result<Vec<Self>>;
    fn element_type() -> SqlType;
    fn to_array(keys: Vec<Self>) -> ArrayRef;
    fn from_array(elements: &ArrayRef) -> Vec<Self>;
}

impl StateKey for u64 {
    fn of_args(args: &[ArrayRef]) -> Result<Vec<u64>> {
        narrow_keys(&args[0]).ok_or_else(|| basalt_base::Error::logical("a wide value among narrow keys"))
    }

    fn element_type() -> SqlType {
        SqlType::UInt64
    }

    fn to_array(keys: Vec<u64>) -> ArrayRef {
        Arc::new(UInt64Array::from(keys))
    }

    fn from_array(elements: &ArrayRef) -> Vec<u64> {
        elements.as_primitive::<UInt64Type>().values().to_vec()
    }
}

impl StateKey for u128 {
    fn of_args(args: &[ArrayRef]) -> Result<Vec<u128>> {
        hash_rows(args)
    }

    fn element_type() -> SqlType {
        SqlType::FixedString(HASH_BYTES)
    }

    fn to_array(keys: Vec<u128>) -> ArrayRef {
        let flat: Vec<u8> = keys.into_iter().flat_map(u128::to_le_bytes).collect();
        Arc::new(FixedSizeBinaryArray::new(HASH_BYTES as i32, flat.into(), None))
    }

    fn from_array(elements: &ArrayRef) -> Vec<u128> {
        let elements = elements.as_fixed_size_binary();
        let (keys, _) = elements.value_data().as_chunks::<HASH_BYTES>();
        keys.iter().map(|&key| u128::from_le_bytes(key)).collect()
    }
}

struct UniqStates<K> {
    sets: KeySets<K>,
}

impl<K: StateKey> States for UniqStates<K> {
    fn fresh(&self) -> Box<dyn States> {
        Box::new(UniqStates { sets: KeySets::<K>::new() })
    }

    fn grow(&mut self, groups: usize) {
        self.sets.grow(groups);
    }

    fn update(&mut self, args: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let keys = K::of_args(args)?;
        self.sets.check_growth(keys.len())?;
        let sets = &mut self.sets;
        if rows.has_only_group() {
            rows.for_each_run(&keys, |run| sets.insert_all(run));
            return Ok(());
        }
        rows.for_each_value(&keys, |group, key| {
            sets.insert(group, key);
        });
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], rows: &GroupedRows<'_>) -> Result<()> {
        let list = as_lists(&states[0])?;
        let keys = K::from_array(list.values());
        self.sets.check_growth(keys.len())?;
        self.sets.reserve(keys.len());
        for_each_element(list, rows, |element, group| {
            self.sets.insert(group, keys[element]);
        });
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        Ok(Arc::new(UInt64Array::from(self.sets.take_counts(emit))))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (counts, keys) = self.sets.take(emit);
        let lengths = counts.into_iter().map(|count| count as usize);
        Ok(vec![lists(&K::element_type(), lengths, K::to_array(keys))?])
    }

    fn bytes(&self) -> usize {
        self.sets.bytes()
    }
}
