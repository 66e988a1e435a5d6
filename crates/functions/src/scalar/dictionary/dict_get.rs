//! `dictGet(dictionary, attribute, key)`, variants with a default or NULL for missing keys, and typed variants.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, StructArray};
use arrow::buffer::NullBuffer;
use arrow::compute::kernels::zip::zip;
use basalt_base::types::TupleElement;
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use basalt_dict::KeyForm;

use super::attribute_of::AttributeOf;
use super::lookup::{Lookup, masked, null_in_key};
use crate::FunctionContext;
use crate::scalar::conversion::{Exact, Inexact};
use crate::scalar::{Argument, Arity, Bound, Kernel, Nulls, Operand, ScalarFunction, Volatility};

/// A hint for keys that may be NULL.
const NEVER_NULL: &str = "; a key `assumeNotNull(..)` is never NULL";

/// The result for a missing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    AttributeDefault,
    /// The default in the fourth argument.
    Given,
    Null,
    /// The attribute's default, and a flag that the key is missing: see [`DICT_GET_FOUND`].
    Told,
}

pub struct DictGet {
    name: &'static str,
    missing: Missing,
    /// The type that the attribute must have.
    ty: Option<SqlType>,
}

macro_rules! dict_gets {
    ($($constant:ident $name:literal $missing:ident $ty:expr;)+) => {
        $(pub(super) static $constant: DictGet =
            DictGet { name: $name, missing: Missing::$missing, ty: $ty };)+
    };
}

dict_gets! {
    DICT_GET "dictGet" AttributeDefault None;
    DICT_GET_OR_DEFAULT "dictGetOrDefault" Given None;
    DICT_GET_OR_NULL "dictGetOrNull" Null None;
    DICT_GET_UINT8 "dictGetUInt8" AttributeDefault Some(SqlType::UInt8);
    DICT_GET_UINT16 "dictGetUInt16" AttributeDefault Some(SqlType::UInt16);
    DICT_GET_UINT32 "dictGetUInt32" AttributeDefault Some(SqlType::UInt32);
    DICT_GET_UINT64 "dictGetUInt64" AttributeDefault Some(SqlType::UInt64);
    DICT_GET_INT8 "dictGetInt8" AttributeDefault Some(SqlType::Int8);
    DICT_GET_INT16 "dictGetInt16" AttributeDefault Some(SqlType::Int16);
    DICT_GET_INT32 "dictGetInt32" AttributeDefault Some(SqlType::Int32);
    DICT_GET_INT64 "dictGetInt64" AttributeDefault Some(SqlType::Int64);
    DICT_GET_FLOAT32 "dictGetFloat32" AttributeDefault Some(SqlType::Float32);
    DICT_GET_FLOAT64 "dictGetFloat64" AttributeDefault Some(SqlType::Float64);
    DICT_GET_DATE "dictGetDate" AttributeDefault Some(SqlType::Date);
    DICT_GET_DATE_TIME "dictGetDateTime" AttributeDefault Some(SqlType::DateTime(None));
    DICT_GET_UUID "dictGetUUID" AttributeDefault Some(SqlType::Uuid);
    DICT_GET_IPV4 "dictGetIPv4" AttributeDefault Some(SqlType::Ipv4);
    DICT_GET_IPV6 "dictGetIPv6" AttributeDefault Some(SqlType::Ipv6);
    DICT_GET_STRING "dictGetString" AttributeDefault Some(SqlType::String);
    DICT_GET_UINT8_OR_DEFAULT "dictGetUInt8OrDefault" Given Some(SqlType::UInt8);
    DICT_GET_UINT16_OR_DEFAULT "dictGetUInt16OrDefault" Given Some(SqlType::UInt16);
    DICT_GET_UINT32_OR_DEFAULT "dictGetUInt32OrDefault" Given Some(SqlType::UInt32);
    DICT_GET_UINT64_OR_DEFAULT "dictGetUInt64OrDefault" Given Some(SqlType::UInt64);
    DICT_GET_INT8_OR_DEFAULT "dictGetInt8OrDefault" Given Some(SqlType::Int8);
    DICT_GET_INT16_OR_DEFAULT "dictGetInt16OrDefault" Given Some(SqlType::Int16);
    DICT_GET_INT32_OR_DEFAULT "dictGetInt32OrDefault" Given Some(SqlType::Int32);
    DICT_GET_INT64_OR_DEFAULT "dictGetInt64OrDefault" Given Some(SqlType::Int64);
    DICT_GET_FLOAT32_OR_DEFAULT "dictGetFloat32OrDefault" Given Some(SqlType::Float32);
    DICT_GET_FLOAT64_OR_DEFAULT "dictGetFloat64OrDefault" Given Some(SqlType::Float64);
    DICT_GET_DATE_OR_DEFAULT "dictGetDateOrDefault" Given Some(SqlType::Date);
    DICT_GET_DATE_TIME_OR_DEFAULT "dictGetDateTimeOrDefault" Given Some(SqlType::DateTime(None));
    DICT_GET_UUID_OR_DEFAULT "dictGetUUIDOrDefault" Given Some(SqlType::Uuid);
    DICT_GET_IPV4_OR_DEFAULT "dictGetIPv4OrDefault" Given Some(SqlType::Ipv4);
    DICT_GET_IPV6_OR_DEFAULT "dictGetIPv6OrDefault" Given Some(SqlType::Ipv6);
    DICT_GET_STRING_OR_DEFAULT "dictGetStringOrDefault" Given Some(SqlType::String);
}

/// A tuple of the value and whether the key was found, so that a default is computed only when it is needed. Not
/// registered: the planner uses it for the `OrDefault` functions. A NULL key counts as found.
pub static DICT_GET_FOUND: DictGet = DictGet { name: "dictGetFound", missing: Missing::Told, ty: None };

impl ScalarFunction for DictGet {
    fn name(&self) -> &'static str {
        self.name
    }

    fn arity(&self) -> Arity {
        let least = if self.missing == Missing::Given { 4 } else { 3 };
        Arity::Between(least, least + 1)
    }

    fn nulls(&self) -> Nulls {
        Nulls::Custom
    }

    fn volatility(&self) -> Volatility {
        Volatility::Stable
    }

    fn bind(&self, args: &[Argument], context: &FunctionContext) -> Result<Bound> {
        let lookup = Lookup::bind(self.name, &args[0], &args[2..], context)?;
        let default = 2 + lookup.width();
        lookup.check_count(self.name, args.len(), default + usize::from(self.missing == Missing::Given))?;
        let (attributes, is_tuple) = lookup.attributes(self.name, &args[1])?;
        // For a tuple of attributes, there is no flag per attribute.
        let says_found = matches!(self.missing, Missing::Given | Missing::Told) && !is_tuple;
        if lookup.dictionary.key_form() == KeyForm::Text
            && self.missing != Missing::AttributeDefault
            && !says_found
        {
            bail!(
                UnsupportedMethod,
                "function `{}` takes no dictionary of layout {}, which does not say whether it has a key",
                self.name,
                lookup.dictionary.layout()
            );
        }
        self.check_type(&lookup, &attributes)?;
        if self.missing == Missing::Null || lookup.takes_null() {
            self.check_nullable(&lookup, &attributes, is_tuple)?;
        }
        let defaults = match args.get(default) {
            Some(default) => Some(self.bind_defaults(&lookup, &attributes, is_tuple, default, context)?),
            None => None,
        };
        let types: Vec<SqlType> = attributes
            .iter()
            .enumerate()
            .map(|(position, &attribute)| {
                let ty = lookup.dictionary.attributes()[attribute].ty.clone();
                let nullable = lookup.nullable
                    || self.missing == Missing::Null
                    || defaults.as_ref().is_some_and(|defaults| defaults[position].nullable);
                if nullable { ty.into_nullable() } else { ty }
            })
            .collect();
        let ty = if is_tuple { tuple_type(&lookup, &attributes, &types) } else { types[0].clone() };
        let tuple = is_tuple.then(|| ty.clone());
        let kernel = GetKernel { missing: self.missing, lookup, attributes, tuple, types, defaults };
        if self.missing == Missing::Told {
            let ty = SqlType::tuple_of([ty, SqlType::Bool]);
            let fields = ty.struct_fields();
            return Ok(Bound::new(ty, move |operands: &[Operand], rows: usize| {
                let (value, found) = kernel.run(operands, rows)?;
                let pairs = StructArray::try_new(fields.clone(), vec![value, Arc::new(found)], None);
                Ok(Arc::new(pairs.map_err(Error::logical)?) as ArrayRef)
            }));
        }
        Ok(Bound::new(ty, kernel))
    }
}

impl DictGet {
    fn check_type(&self, lookup: &Lookup, attributes: &[usize]) -> Result<()> {
        let Some(expected) = &self.ty else { return Ok(()) };
        for &attribute in attributes {
            let attribute = &lookup.dictionary.attributes()[attribute];
            let found = attribute.ty.full();
            let fits = match (expected, found) {
                (SqlType::DateTime(_), SqlType::DateTime(_)) => true,
                _ => expected == found,
            };
            if !fits {
                return Err(Error::new(
                    ErrorCode::TypeMismatch,
                    format!(
                        "attribute `{}` is of type {found}, function `{}` reads {expected}; \
                         `dictGet` reads any type",
                        attribute.name, self.name
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Refuses a call that gives NULL for a missing or NULL key if the type of an attribute cannot be Nullable.
    fn check_nullable(&self, lookup: &Lookup, attributes: &[usize], is_tuple: bool) -> Result<()> {
        let mut attributes = attributes.iter().map(|&attribute| &lookup.dictionary.attributes()[attribute]);
        let Some(attribute) = attributes.find(|attribute| !can_be_null(&attribute.ty)) else {
            return Ok(());
        };
        let (code, advice) = match self.missing {
            Missing::Null => (ErrorCode::IllegalTypeOfArgument, ""),
            _ if is_tuple => (ErrorCode::UnsupportedMethod, NEVER_NULL),
            _ => (ErrorCode::IllegalTypeOfArgument, NEVER_NULL),
        };
        let (function, name, ty) = (self.name, &attribute.name, &attribute.ty);
        let what =
            format!("function `{function}` cannot give NULL for attribute `{name}` of type {ty}{advice}");
        Err(Error::new(code, what))
    }

    /// The conversions of the default, one per attribute.
    fn bind_defaults(
        &self,
        lookup: &Lookup,
        attributes: &[usize],
        is_tuple: bool,
        default: &Argument,
        context: &FunctionContext,
    ) -> Result<Vec<Default>> {
        let given: Vec<SqlType> = match default.ty.stripped() {
            SqlType::Tuple(elements) if is_tuple => {
                elements.iter().map(|element| element.ty.clone()).collect()
            }
            _ => vec![default.ty.clone()],
        };
        if given.len() != attributes.len() {
            return Err(Error::new(
                ErrorCode::TypeMismatch,
                format!(
                    "function `{}` takes a default for each of {} attributes",
                    self.name,
                    attributes.len()
                ),
            ));
        }
        let bind = |(from, &attribute): (&SqlType, &usize)| {
            let to = lookup.dictionary.attributes()[attribute].ty.clone();
            // A nullable column makes the result nullable; a constant NULL is refused below.
            let nullable = from.accepts_null() && from.stripped() != &SqlType::Nothing;
            let to = if nullable { to.into_nullable() } else { to };
            Ok(Default { exact: Exact::new(from, &to, context, Inexact::Fails)?, nullable })
        };
        given.iter().zip(attributes).map(bind).collect()
    }
}

fn can_be_null(ty: &SqlType) -> bool {
    ty.clone().into_nullable().accepts_null()
}

/// Converts a given default to a value of its attribute.
struct Default {
    exact: Exact,
    nullable: bool,
}

fn tuple_type(lookup: &Lookup, attributes: &[usize], types: &[SqlType]) -> SqlType {
    let elements = attributes.iter().zip(types).map(|(&attribute, ty)| TupleElement {
        name: Some(lookup.dictionary.attributes()[attribute].name.clone()),
        ty: ty.clone(),
    });
    SqlType::Tuple(elements.collect())
}

struct GetKernel {
    missing: Missing,
    lookup: Lookup,
    attributes: Vec<usize>,
    /// The result type, if it is a tuple.
    tuple: Option<SqlType>,
    /// One per attribute.
    types: Vec<SqlType>,
    defaults: Option<Vec<Default>>,
}

impl GetKernel {
    /// The values, and which of the keys that are not NULL were found.
    fn run(&self, operands: &[Operand], rows: usize) -> Result<(ArrayRef, BooleanArray)> {
        let (keys, key_nulls) = self.lookup.keys(&operands[2..], rows)?;
        let (mut values, found) = self.lookup.dictionary.get(&self.attributes, &keys)?;
        match self.missing {
            Missing::AttributeDefault | Missing::Told => {}
            Missing::Null => {
                let nulls = NullBuffer::new(found.values().clone());
                for value in &mut values {
                    *value = masked(value, Some(&nulls))?;
                }
            }
            Missing::Given => self.fill(&mut values, &found, &operands[2 + self.lookup.width()], rows)?,
        }
        if let Some(nulls) = &key_nulls {
            for (value, ty) in values.iter_mut().zip(&self.types) {
                if !ty.accepts_null() {
                    return Err(null_in_key(&format!("a value of type {ty}")));
                }
                *value = masked(value, Some(nulls))?;
            }
        }
        let value = match &self.tuple {
            None => values.pop().ok_or_else(|| Error::logical("a lookup of no attribute"))?,
            Some(ty) => {
                let tuple =
                    StructArray::try_new(ty.struct_fields(), values, None).map_err(Error::of_arrow)?;
                Arc::new(tuple)
            }
        };
        let found = match key_nulls {
            Some(nulls) => found.values() | &!nulls.inner(),
            None => found.values().clone(),
        };
        Ok((value, BooleanArray::new(found, None)))
    }

    /// Fills in the given default for missing keys.
    fn fill(
        &self,
        values: &mut [ArrayRef],
        found: &BooleanArray,
        default: &Operand,
        rows: usize,
    ) -> Result<()> {
        if found.true_count() == rows {
            return Ok(());
        }
        let Some(defaults) = &self.defaults else {
            return Err(Error::logical("dictGetOrDefault was bound without a default"));
        };
        let given = default.full(rows)?;
        for (position, value) in values.iter_mut().enumerate() {
            let column = match (&self.tuple, given.as_struct_opt()) {
                (Some(_), Some(tuple)) => tuple.column(position),
                _ => &given,
            };
            let column = defaults[position].exact.convert(column);
            let column = column.map_err(|error| error.within("the default of a lookup"))?;
            *value = zip(found, value, &column).map_err(Error::of_arrow)?;
        }
        Ok(())
    }
}

impl Kernel for GetKernel {
    fn evaluate(&self, operands: &[Operand], rows: usize) -> Result<ArrayRef> {
        Ok(self.run(operands, rows)?.0)
    }

    fn prefers_large_blocks(&self) -> bool {
        self.lookup.dictionary.prefers_large_blocks()
    }

    fn attribute(&self) -> Option<AttributeOf<'_>> {
        match self.attributes.as_slice() {
            [attribute] if self.tuple.is_none() => {
                let has_default = self.missing == Missing::AttributeDefault;
                Some(AttributeOf::new(&self.lookup.dictionary, *attribute, has_default))
            }
            _ => None,
        }
    }
}
