//! A scalar function defined by a constant: its name, its rules and its `bind`.

use arrow::array::{Array, ArrayRef, AsArray};
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::{Argument, Arity, Bound, LowCardinality, Nulls, ScalarFunction, Volatility};
use crate::FunctionContext;

/// A call, as passed to the `bind` of a function.
pub(super) struct Call<'a> {
    pub(super) name: &'static str,
    pub(super) args: &'a [Argument],
    pub(super) context: &'a FunctionContext,
}

/// A stateless function.
pub(super) struct Definition {
    name: &'static str,
    aliases: &'static [&'static str],
    case_insensitive: bool,
    arity: Arity,
    nulls: Nulls,
    volatility: Volatility,
    low_cardinality: LowCardinality,
    refused: &'static [Refused],
    bind: fn(&Call<'_>) -> Result<Bound>,
}

/// An argument that can be a String but, as in ClickHouse, not a FixedString.
pub(super) struct Refused {
    argument: usize,
    what: Width,
    code: ErrorCode,
}

/// Which FixedString arguments are refused.
#[derive(Clone, Copy, PartialEq)]
enum Width {
    All,
    OfColumns,
    OfConstants,
}

impl Refused {
    pub(super) const fn all(argument: usize, code: ErrorCode) -> Refused {
        Refused { argument, what: Width::All, code }
    }

    /// Constants are accepted.
    pub(super) const fn column(argument: usize, code: ErrorCode) -> Refused {
        Refused { argument, what: Width::OfColumns, code }
    }

    /// Columns are accepted.
    pub(super) const fn constant(argument: usize, code: ErrorCode) -> Refused {
        Refused { argument, what: Width::OfConstants, code }
    }
}

impl Definition {
    /// A function that gives NULL for NULL and depends only on its arguments.
    pub(super) const fn new(
        name: &'static str,
        arity: Arity,
        bind: fn(&Call<'_>) -> Result<Bound>,
    ) -> Definition {
        Definition {
            name,
            aliases: &[],
            case_insensitive: false,
            arity,
            nulls: Nulls::Propagate,
            volatility: Volatility::Immutable,
            low_cardinality: LowCardinality::Kept,
            refused: &[],
            bind,
        }
    }

    /// [`Definition::new`] with a name that matches in any case.
    pub(super) const fn any_case(
        name: &'static str,
        arity: Arity,
        bind: fn(&Call<'_>) -> Result<Bound>,
    ) -> Definition {
        Definition::new(name, arity, bind).case_insensitive()
    }

    pub(super) const fn aliases(mut self, aliases: &'static [&'static str]) -> Definition {
        self.aliases = aliases;
        self
    }

    pub(super) const fn case_insensitive(mut self) -> Definition {
        self.case_insensitive = true;
        self
    }

    /// Aliases from standard SQL. With any, the name is case-insensitive, too.
    pub(super) const fn sql_names(mut self, aliases: &'static [&'static str]) -> Definition {
        self.aliases = aliases;
        self.case_insensitive = !aliases.is_empty();
        self
    }

    /// The function handles NULL itself.
    pub(super) const fn sees_null(mut self) -> Definition {
        self.nulls = Nulls::Custom;
        self
    }

    pub(super) const fn low_cardinality(mut self, low_cardinality: LowCardinality) -> Definition {
        self.low_cardinality = low_cardinality;
        self
    }

    /// The arguments that must not be a FixedString.
    pub(super) const fn refuses_fixed_string(mut self, refused: &'static [Refused]) -> Definition {
        self.refused = refused;
        self
    }

    pub(super) const fn volatility(mut self, volatility: Volatility) -> Definition {
        self.volatility = volatility;
        self
    }
}

impl ScalarFunction for Definition {
    fn name(&self) -> &'static str {
        self.name
    }

    fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }

    fn case_insensitive(&self) -> bool {
        self.case_insensitive
    }

    fn arity(&self) -> Arity {
        self.arity
    }

    fn nulls(&self) -> Nulls {
        self.nulls
    }

    fn volatility(&self) -> Volatility {
        self.volatility
    }

    fn low_cardinality(&self) -> LowCardinality {
        self.low_cardinality
    }

    fn bind(&self, args: &[Argument], context: &FunctionContext) -> Result<Bound> {
        let call = Call { name: self.name, args, context };
        call.refuse_fixed_strings(self.refused)?;
        (self.bind)(&call)
    }
}

impl<'a> Call<'a> {
    pub(super) fn len(&self) -> usize {
        self.args.len()
    }

    /// The type of argument `index`, without `LowCardinality`.
    pub(super) fn ty(&self, index: usize) -> &'a SqlType {
        self.args[index].ty.full()
    }

    /// ILLEGAL_TYPE_OF_ARGUMENT for argument `index`.
    pub(super) fn illegal(&self, index: usize) -> Error {
        let (name, ty) = (self.name, &self.args[index].ty);
        Error::new(
            ErrorCode::IllegalTypeOfArgument,
            format!("illegal type {ty} of argument {} of function `{name}`", index + 1),
        )
    }

    /// ILLEGAL_TYPE_OF_ARGUMENT for incompatible types.
    pub(super) fn illegal_types(&self) -> Error {
        let types: Vec<String> = self.args.iter().map(|arg| arg.ty.to_string()).collect();
        let (name, types) = (self.name, types.join(", "));
        Error::new(
            ErrorCode::IllegalTypeOfArgument,
            format!("illegal types ({types}) of the arguments of function `{name}`"),
        )
    }

    fn refuse_fixed_strings(&self, refused: &[Refused]) -> Result<()> {
        for Refused { argument, what, code } in refused {
            let Some(arg) = self.args.get(*argument) else { continue };
            let is_meant = match what {
                Width::All => true,
                Width::OfColumns => arg.constant.is_none(),
                Width::OfConstants => arg.constant.as_ref().is_some_and(|value| value.null_count() == 0),
            };
            if is_meant {
                self.refuse_fixed_string(*argument, *code)?;
            }
        }
        Ok(())
    }

    /// Argument `index` must not be a FixedString; `code` is the error if it is.
    pub(super) fn refuse_fixed_string(&self, index: usize, code: ErrorCode) -> Result<()> {
        if !matches!(self.ty(index).stripped(), SqlType::FixedString(_)) {
            return Ok(());
        }
        let (name, ty) = (self.name, &self.args[index].ty);
        Err(Error::new(code, format!("argument {} of function `{name}` is a String, not a {ty}", index + 1)))
    }

    /// Argument `index` must be a String or FixedString.
    pub(super) fn expect_string(&self, index: usize) -> Result<()> {
        if self.ty(index).is_string() { Ok(()) } else { Err(self.illegal(index)) }
    }

    /// Argument `index` must be an integer.
    pub(super) fn expect_integer(&self, index: usize) -> Result<()> {
        let ty = self.ty(index);
        if ty.is_integer() || *ty == SqlType::Bool { Ok(()) } else { Err(self.illegal(index)) }
    }

    /// Argument `index` must be a number.
    pub(super) fn expect_number(&self, index: usize) -> Result<()> {
        if self.ty(index).is_number() { Ok(()) } else { Err(self.illegal(index)) }
    }

    /// The value of argument `index` if it is a constant that is not NULL.
    pub(super) fn constant(&self, index: usize) -> Option<&'a ArrayRef> {
        self.args.get(index)?.constant.as_ref().filter(|value| value.len() == 1 && value.is_valid(0))
    }

    /// The bytes of argument `index` if it is a constant string.
    pub(super) fn constant_bytes(&self, index: usize) -> Option<&'a [u8]> {
        self.constant(index)?.as_binary_view_opt().map(|array| array.value(0))
    }

    /// The text of argument `index`, which must be a constant string.
    pub(super) fn expect_text(&self, index: usize) -> Result<&'a str> {
        let text = self.constant_bytes(index).and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.ok_or_else(|| {
            let name = self.name;
            Error::new(
                ErrorCode::IllegalColumn,
                format!("argument {} of function `{name}` must be a constant string", index + 1),
            )
        })
    }

    /// The value of argument `index`, which must be a constant integer.
    pub(super) fn expect_constant_integer(&self, index: usize) -> Result<i64> {
        if !self.ty(index).stripped().is_integer() {
            return Err(self.illegal(index));
        }
        let value = self.constant(index).ok_or_else(|| {
            let name = self.name;
            Error::new(
                ErrorCode::IllegalColumn,
                format!("argument {} of function `{name}` must be a constant integer", index + 1),
            )
        })?;
        Ok(super::number::wrap_to::<arrow::datatypes::Int64Type>(value)?.value(0))
    }
}
