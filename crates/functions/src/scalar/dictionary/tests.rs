//! `dictGet` and its family over a dictionary of two rows.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Float64Array, Int8Array, UInt64Array,
};
use arrow::datatypes::UInt64Type;
use basalt_base::zone::Zone;
use basalt_base::{Error, ErrorCode, Result, SqlType};
use basalt_dict::{
    Attribute, Dictionaries, Dictionary, DictionarySchema, DictionaryStats, LayoutKind, VisitRows,
};

use super::{ALL, AttributeOf};
use crate::scalar::{Argument, Operand};
use crate::{FunctionContext, ServerContext};

/// Keys 1 and 2 with the names `one` and `two`; the parent of 2 is 1.
struct Numbers {
    schema: DictionarySchema,
}

impl Dictionary for Numbers {
    fn schema(&self) -> &DictionarySchema {
        &self.schema
    }

    fn lists_keys(&self) -> bool {
        false
    }

    fn get(&self, attributes: &[usize], keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, BooleanArray)> {
        let keys_given = keys[0].as_primitive::<UInt64Type>().values();
        let column = |&attribute: &usize| -> ArrayRef {
            if attribute == 0 {
                let names = keys_given.iter().map(|key| match key {
                    1 => "one",
                    2 => "two",
                    _ => "none",
                });
                Arc::new(BinaryViewArray::from_iter_values(names))
            } else {
                Arc::new(UInt64Array::from_iter_values(keys_given.iter().map(|key| u64::from(*key == 2))))
            }
        };
        Ok((attributes.iter().map(column).collect(), self.has(keys)?))
    }

    fn has(&self, keys: &[ArrayRef]) -> Result<BooleanArray> {
        let keys = keys[0].as_primitive::<UInt64Type>().values();
        Ok(keys.iter().map(|key| Some((1..=2).contains(key))).collect())
    }

    /// A block for each key. No caller requests all columns.
    fn visit_columns(&self, columns: &[usize], visit: &mut VisitRows<'_>) -> Result<()> {
        assert!(columns.len() < self.column_count(), "{columns:?}");
        for key in 1..=2 {
            let key: ArrayRef = Arc::new(UInt64Array::from(vec![key]));
            let column = |&at: &usize| match at {
                0 => Ok(Arc::clone(&key)),
                _ => self.get(&[at - 1], &[Arc::clone(&key)]).map(|(columns, _)| Arc::clone(&columns[0])),
            };
            visit(1, columns.iter().map(column).collect::<Result<_>>()?)?;
        }
        Ok(())
    }

    fn stats(&self) -> DictionaryStats {
        DictionaryStats::default()
    }
}

struct OnlyNumbers;

impl Dictionaries for OnlyNumbers {
    fn dictionary(&self, name: &str, _current_database: &str) -> Result<Arc<dyn Dictionary>> {
        if name != "numbers" {
            return Err(Error::new(ErrorCode::BadArguments, format!("there is no dictionary `{name}`")));
        }
        let attribute = |name: &str, ty: SqlType, hierarchical| Attribute {
            name: name.into(),
            default: ty.default_array(1),
            ty,
            hierarchical,
            injective: false,
        };
        let attributes =
            vec![attribute("name", SqlType::String, false), attribute("parent", SqlType::UInt64, true)];
        let schema = DictionarySchema {
            kind: LayoutKind::Flat,
            key_types: vec![SqlType::UInt64],
            range_type: None,
            attributes,
        };
        Ok(Arc::new(Numbers { schema }))
    }
}

fn context() -> FunctionContext {
    FunctionContext {
        zone: Zone::utc(),
        now_us: 0,
        current_database: "default".into(),
        current_user: String::new(),
        roles: crate::UserRoles::default(),
        query_id: String::new(),
        server: ServerContext::default(),
        dictionaries: Arc::new(OnlyNumbers),
        settings: Arc::new(crate::NoSettings),
        relations: Arc::new(crate::NoRelations),
    }
}

fn text(value: &str) -> (SqlType, ArrayRef) {
    (SqlType::String, Arc::new(BinaryViewArray::from_iter_values([value])))
}

/// Calls a function with a dictionary, an attribute where it takes one, keys, and what comes after.
fn call(
    name: &str,
    attribute: Option<&str>,
    keys: (SqlType, ArrayRef),
    more: Vec<(SqlType, ArrayRef)>,
) -> Result<(SqlType, ArrayRef)> {
    let rows = keys.1.len();
    let constants = std::iter::once(text("numbers")).chain(attribute.map(text));
    let mut given: Vec<(SqlType, ArrayRef, bool)> = constants.map(|(ty, value)| (ty, value, true)).collect();
    given.push((keys.0, keys.1, false));
    given.extend(more.into_iter().map(|(ty, value)| (ty, value, true)));
    let args: Vec<Argument> = given
        .iter()
        .map(|(ty, value, constant)| Argument {
            ty: ty.clone(),
            constant: constant.then(|| Arc::clone(value)),
        })
        .collect();
    let function = ALL.iter().find(|function| function.name() == name).unwrap();
    let bound = function.bind(&args, &context())?;
    let operands: Vec<Operand> =
        given.into_iter().map(|(_, array, constant)| Operand { array, constant }).collect();
    Ok((bound.return_type, bound.kernel.evaluate(&operands, rows)?))
}

fn keys(values: Vec<u64>) -> (SqlType, ArrayRef) {
    (SqlType::UInt64, Arc::new(UInt64Array::from(values)))
}

fn names(array: &ArrayRef) -> Vec<Option<String>> {
    let names = array.as_binary_view().iter();
    names.map(|name| name.map(|name| String::from_utf8_lossy(name).into_owned())).collect()
}

fn some(names: &[&str]) -> Vec<Option<String>> {
    names.iter().map(|name| Some((*name).to_owned())).collect()
}

#[test]
fn a_missing_key_has_the_default_or_null() {
    let (ty, found) = call("dictGet", Some("name"), keys(vec![2, 9, 1]), vec![]).unwrap();
    assert_eq!((ty, names(&found)), (SqlType::String, some(&["two", "none", "one"])));
    let (ty, found) = call("dictGetOrDefault", Some("name"), keys(vec![2, 9]), vec![text("?")]).unwrap();
    assert_eq!((ty, names(&found)), (SqlType::String, some(&["two", "?"])));
    let (ty, found) = call("dictGetOrNull", Some("name"), keys(vec![9, 1]), vec![]).unwrap();
    assert_eq!((ty, names(&found)), (SqlType::String.into_nullable(), vec![None, Some("one".into())]));
}

#[test]
fn a_null_key_gives_null() {
    let nullable: ArrayRef = Arc::new(UInt64Array::from(vec![Some(1), None]));
    let (ty, found) =
        call("dictGet", Some("name"), (SqlType::UInt64.into_nullable(), nullable), vec![]).unwrap();
    assert_eq!((ty, names(&found)), (SqlType::String.into_nullable(), vec![Some("one".into()), None]));
}

#[test]
fn a_key_that_is_no_key_is_refused() {
    let negative: ArrayRef = Arc::new(Int8Array::from(vec![1, -1]));
    let error = call("dictGet", Some("name"), (SqlType::Int8, negative), vec![]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CannotConvertType);
    let fraction: ArrayRef = Arc::new(Float64Array::from(vec![2.5]));
    let error = call("dictHas", None, (SqlType::Float64, fraction), vec![]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CannotConvertType);
    let whole: ArrayRef = Arc::new(Float64Array::from(vec![2.0]));
    let (_, found) = call("dictGet", Some("name"), (SqlType::Float64, whole), vec![]).unwrap();
    assert_eq!(names(&found), some(&["two"]));
}

#[test]
fn an_unknown_attribute_names_those_there_are() {
    let error = call("dictGet", Some("nam"), keys(vec![1]), vec![]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::BadArguments);
    assert!(error.message().contains("`name`, `parent`; did you mean `name`?"), "{error}");
    let error = call("dictGetUInt64", Some("name"), keys(vec![1]), vec![]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TypeMismatch);
}

#[test]
fn a_hierarchy_goes_up_to_its_root() {
    let (_, chains) = call("dictGetHierarchy", None, keys(vec![2, 1, 9]), vec![]).unwrap();
    let chains = chains.as_list::<i32>();
    let chain = |row: usize| chains.value(row).as_primitive::<UInt64Type>().values().to_vec();
    assert_eq!((chain(0), chain(1), chain(2)), (vec![2, 1], vec![1], vec![]));
    let (_, is_in) = call("dictIsIn", None, keys(vec![2, 9]), vec![keys(vec![1])]).unwrap();
    assert_eq!(is_in.as_primitive::<arrow::datatypes::UInt8Type>().values().to_vec(), vec![1, 0]);
}

#[test]
fn what_leads_back_to_keys_reads_the_columns_it_needs() {
    let lists = |lists: ArrayRef| -> Vec<Vec<u64>> {
        let list =
            |row: usize| lists.as_list::<i32>().value(row).as_primitive::<UInt64Type>().values().to_vec();
        (0..lists.len()).map(list).collect()
    };
    let (_, children) = call("dictGetChildren", None, keys(vec![0, 1, 2]), vec![]).unwrap();
    assert_eq!(lists(children), [vec![1], vec![2], vec![]]);
    let (_, below) = call("dictGetDescendants", None, keys(vec![0, 2]), vec![]).unwrap();
    assert_eq!(lists(below), [vec![1, 2], vec![]]);
    let values: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(["two", "three", "one"]));
    let (_, found) = call("dictGetKeys", Some("name"), (SqlType::String, values), vec![]).unwrap();
    assert_eq!(lists(found), [vec![2], vec![], vec![1]]);
    let dictionary = OnlyNumbers.dictionary("numbers", "default").unwrap();
    let is_two =
        |values: &ArrayRef| Ok(values.as_binary_view().iter().map(|name| Some(name? == b"two")).collect());
    let found = AttributeOf::new(&dictionary, 0, true).keys_where(is_two).unwrap();
    assert_eq!(found[0].as_primitive::<UInt64Type>().values().to_vec(), [2]);
}
