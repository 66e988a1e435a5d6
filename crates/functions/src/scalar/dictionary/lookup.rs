//! A dictionary bound to the arguments of a call: which dictionary, and the conversion of the key.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, make_array};
use arrow::buffer::NullBuffer;
use basalt_base::suggest::did_you_mean;
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use basalt_dict::{Dictionary, KeyForm};

use crate::FunctionContext;
use crate::scalar::conversion::{Exact, Inexact};
use crate::scalar::{Argument, Operand};

/// A dictionary and the conversions of its key columns.
pub(super) struct Lookup {
    pub(super) dictionary: Arc<dyn Dictionary>,
    keys: Vec<Key>,
    /// The second key argument, for a dictionary whose rows have a range.
    point: Option<Key>,
    /// Whether the key argument is a tuple of the key columns.
    in_tuple: bool,
    /// Whether the key argument, or an element of it, may be NULL.
    pub(super) nullable: bool,
}

impl Lookup {
    /// Binds the dictionary called `name`. The first of `args` is the key; for a dictionary with ranges the point
    /// follows.
    pub(super) fn bind(
        function: &str,
        name: &Argument,
        args: &[Argument],
        context: &FunctionContext,
    ) -> Result<Lookup> {
        let dictionary = open(function, name, context)?;
        let dictionary = dictionary.on_threads(context.settings.threads_max()).unwrap_or(dictionary);
        let Some(key) = args.first().map(|key| &key.ty) else {
            return Err(Error::logical("a lookup without a key"));
        };
        let point = [SqlType::Float64, SqlType::Float64];
        let types = match dictionary.key_form() {
            KeyForm::Point => &point[..],
            _ => dictionary.key_types(),
        };
        let elements: Vec<SqlType> = match key.stripped() {
            SqlType::Tuple(elements) => elements.iter().map(|element| element.ty.clone()).collect(),
            _ => Vec::new(),
        };
        let in_tuple = !elements.is_empty();
        if !in_tuple && dictionary.key_form() == KeyForm::Point {
            bail!(TypeMismatch, "the key of the dictionary is a tuple of two Float64, got {key}");
        }
        if !in_tuple && types.len() != 1 {
            bail!(
                IllegalTypeOfArgument,
                "the key of the dictionary is a tuple of {} values, got {key} in function `{function}`",
                types.len()
            );
        }
        if in_tuple && elements.len() != types.len() {
            bail!(TypeMismatch, "the key of the dictionary is {}, got {key}", listed(types));
        }
        let given = if in_tuple { elements } else { vec![key.stripped().clone()] };
        let keys = match dictionary.key_form() {
            KeyForm::Columns | KeyForm::Point | KeyForm::Text => given
                .iter()
                .zip(types)
                .map(|(from, to)| Key::bind(from.stripped(), to, context))
                .collect::<Result<Vec<_>>>()?,
            KeyForm::Address => vec![bind_address(given[0].stripped(), context)?],
        };
        let nullable = key.accepts_null() || given.iter().any(SqlType::accepts_null);
        let point = match dictionary.range_type() {
            Some(ty) => Some(bind_point(function, ty, args.get(1), context)?),
            None => None,
        };
        Ok(Lookup { dictionary, keys, point, in_tuple, nullable })
    }

    /// Whether the key argument as a whole may be NULL.
    pub(super) fn takes_null(&self) -> bool {
        self.nullable && !self.in_tuple
    }

    /// The number of arguments of key and point.
    pub(super) fn width(&self) -> usize {
        1 + usize::from(self.point.is_some())
    }

    /// Refuses a call with `given` arguments if this dictionary needs `expected`.
    pub(super) fn check_count(&self, function: &str, given: usize, expected: usize) -> Result<()> {
        if given == expected {
            return Ok(());
        }
        bail!(
            NumberOfArgumentsDoesntMatch,
            "function `{function}` takes {expected} arguments for a dictionary of layout {}, got {given}",
            self.dictionary.layout()
        )
    }

    /// The key columns of a block without NULLs, followed by the point, and the rows without NULL. `operands` begin
    /// with the key.
    pub(super) fn keys(
        &self,
        operands: &[Operand],
        rows: usize,
    ) -> Result<(Vec<ArrayRef>, Option<NullBuffer>)> {
        let Some(key) = operands.first() else {
            return Err(Error::logical("a lookup without a key"));
        };
        let given = key.full(rows)?;
        let columns: Vec<ArrayRef> =
            if self.in_tuple { given.as_struct().columns().to_vec() } else { vec![Arc::clone(&given)] };
        let mut nulls = given.logical_nulls();
        let mut keys = Vec::with_capacity(columns.len() + 1);
        for (column, key) in columns.iter().zip(&self.keys) {
            nulls = NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref());
            keys.push(unmasked(&key.convert(column)?)?);
        }
        if let (Some(point), Some(operand)) = (&self.point, operands.get(1)) {
            keys.push(point.convert(&operand.full(rows)?)?);
        }
        Ok((keys, nulls.filter(|nulls| nulls.null_count() > 0)))
    }

    /// The positions of the attributes in a constant argument, and whether it is a tuple.
    pub(super) fn attributes(&self, function: &str, names: &Argument) -> Result<(Vec<usize>, bool)> {
        let (names, is_tuple) = attribute_names(function, names)?;
        let positions = names.iter().map(|name| position(name, self.dictionary.as_ref()));
        Ok((positions.collect::<Result<Vec<_>>>()?, is_tuple))
    }
}

/// The position of the attribute in a constant argument.
pub(super) fn attribute_position(
    function: &str,
    name: &Argument,
    dictionary: &dyn Dictionary,
) -> Result<usize> {
    match attribute_names(function, name)? {
        (names, false) if names.len() == 1 => position(&names[0], dictionary),
        _ => bail!(IllegalTypeOfArgument, "the second argument of `{function}` is one attribute's name"),
    }
}

fn position(name: &str, dictionary: &dyn Dictionary) -> Result<usize> {
    let known = dictionary.attributes();
    known.iter().position(|attribute| attribute.name == name).ok_or_else(|| {
        let all: Vec<&str> = known.iter().map(|attribute| attribute.name.as_str()).collect();
        let hint = did_you_mean(name, all.iter().copied());
        Error::new(
            ErrorCode::BadArguments,
            format!("the dictionary has no attribute `{name}`, it has `{}`{hint}", all.join("`, `")),
        )
    })
}

fn listed(types: &[SqlType]) -> String {
    let types: Vec<String> = types.iter().map(SqlType::to_string).collect();
    format!("({})", types.join(", "))
}

/// An IPv4 address as a number, or the 16 bytes of an IPv6 address.
fn bind_address(given: &SqlType, context: &FunctionContext) -> Result<Key> {
    match given {
        SqlType::Ipv4 | SqlType::UInt32 => Key::bind(given, &SqlType::UInt32, context),
        SqlType::FixedString(16) | SqlType::Ipv6 => Key::bind(given, given, context),
        SqlType::Nothing => Key::bind(given, &SqlType::UInt32, context),
        other => bail!(
            TypeMismatch,
            "the key of the dictionary is an address, IPv4 (or UInt32) or IPv6 (or FixedString(16)), not {other}"
        ),
    }
}

fn bind_point(
    function: &str,
    ty: &SqlType,
    given: Option<&Argument>,
    context: &FunctionContext,
) -> Result<Key> {
    let Some(given) = given else {
        bail!(
            NumberOfArgumentsDoesntMatch,
            "function `{function}` takes a value of type {ty} after the key of a dictionary with ranges"
        );
    };
    let is_text = given.ty.is_string() && !matches!(ty, SqlType::Enum8(_) | SqlType::Enum16(_));
    if given.ty.accepts_null() || is_text || given.ty.fixed_bytes().is_none() && !given.ty.is_string() {
        bail!(
            IllegalColumn,
            "function `{function}` looks {ty} up among the dictionary's ranges, which {} is not",
            given.ty
        );
    }
    Key::bind(given.ty.stripped(), ty, context)
}

/// Converts a column to a key column of the dictionary.
struct Key {
    exact: Exact,
    to: SqlType,
    /// Whether the argument is always NULL.
    is_null: bool,
}

impl Key {
    fn bind(from: &SqlType, to: &SqlType, context: &FunctionContext) -> Result<Key> {
        let is_null = *from == SqlType::Nothing;
        let from_known = if is_null { to } else { from };
        let exact = Exact::new(from_known, to, context, Inexact::Fails).map_err(|error| {
            let code = match error.code() {
                ErrorCode::CannotConvertType => ErrorCode::IllegalTypeOfArgument,
                other => other,
            };
            Error::new(
                code,
                format!("a key of type {from} for a dictionary with keys of type {to}: {}", error.message()),
            )
        })?;
        Ok(Key { exact, to: to.clone(), is_null })
    }

    fn convert(&self, column: &ArrayRef) -> Result<ArrayRef> {
        if self.is_null {
            return Ok(self.to.default_array(column.len()));
        }
        self.exact.convert(column).map_err(|error| error.within("the key of a lookup"))
    }
}

/// The dictionary named by a constant string.
pub(super) fn open(
    function: &str,
    name: &Argument,
    context: &FunctionContext,
) -> Result<Arc<dyn Dictionary>> {
    let text = name.constant.as_ref().and_then(|value| constant_text(&name.ty, value));
    let text = text.ok_or_else(|| {
        Error::new(
            ErrorCode::IllegalTypeOfArgument,
            format!("the first argument of `{function}` is the name of a dictionary as a constant string"),
        )
    })?;
    context.dictionaries.dictionary(&text, &context.current_database)
}

fn attribute_names(function: &str, names: &Argument) -> Result<(Vec<String>, bool)> {
    let illegal = || {
        Error::new(
            ErrorCode::IllegalTypeOfArgument,
            format!("the second argument of `{function}` is a constant string or a tuple of them"),
        )
    };
    let value = names.constant.as_ref().ok_or_else(illegal)?;
    let SqlType::Tuple(elements) = names.ty.stripped() else {
        return Ok((vec![constant_text(&names.ty, value).ok_or_else(illegal)?], false));
    };
    let columns = value.as_struct().columns().iter().zip(elements.iter());
    let texts: Option<Vec<String>> =
        columns.map(|(column, element)| constant_text(&element.ty, column)).collect();
    let texts = texts.filter(|texts| !texts.is_empty()).ok_or_else(illegal)?;
    Ok((texts, true))
}

fn constant_text(ty: &SqlType, value: &ArrayRef) -> Option<String> {
    let present = ty.stripped() == &SqlType::String && value.len() == 1 && !value.is_null(0);
    present.then(|| String::from_utf8_lossy(value.as_binary_view().value(0)).into_owned())
}

/// The error for NULL in a tuple key if the result cannot be NULL.
pub(super) fn null_in_key(result: &str) -> Error {
    Error::new(
        ErrorCode::CannotInsertNullInOrdinaryColumn,
        format!("NULL in the key of a lookup of {result}, which cannot be NULL"),
    )
}

/// The array without its null mask: values under the mask are looked up and discarded.
fn unmasked(array: &ArrayRef) -> Result<ArrayRef> {
    if array.nulls().is_none() {
        return Ok(Arc::clone(array));
    }
    let data = array.to_data().into_builder().nulls(None).build().map_err(Error::logical)?;
    Ok(make_array(data))
}

/// The array with NULL also in the rows of `nulls`.
pub(super) fn masked(array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    let Some(nulls) = NullBuffer::union(array.nulls(), nulls) else {
        return Ok(Arc::clone(array));
    };
    let data = array.to_data().into_builder().nulls(Some(nulls)).build().map_err(Error::logical)?;
    Ok(make_array(data))
}
