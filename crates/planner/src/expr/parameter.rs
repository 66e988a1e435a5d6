//! Query parameters: `{name:Type}`.

use basalt_base::{Error, ErrorCode, Result, SqlType};
use basalt_functions::{bad_parameter, parameter_text};
use basalt_sql::ast::{Expr, TypeName};

use super::{Binder, convert, literal};
use crate::bound_expr::BoundExpr;

/// The type of a parameter `$n` that has none: it takes that of the values next to it.
const UNKNOWN: &str = "Unknown";
/// An array of such a type, whose elements are compared with the value next to it.
const UNKNOWN_ARRAY: &str = "UnknownArray";

impl Binder<'_> {
    /// If `operand` is a parameter without a type, it has that of `other`, which it is combined with.
    pub(super) fn infer_parameter(&self, operand: &Expr, other: &SqlType) {
        if let (Expr::Parameter { name, ty }, Some(postgres)) = (operand, self.session.ctx.postgres)
            && let Ok(number) = name.parse()
        {
            match ty.name.as_str() {
                UNKNOWN => postgres.infer(number, other.stripped()),
                UNKNOWN_ARRAY => postgres.infer(number, &SqlType::array_of(other.stripped().clone())),
                _ => {}
            }
        }
    }

    /// `{name:Type}`: the text given with the query, as a value of that type.
    pub(super) fn bind_parameter(&self, name: &str, ty: &TypeName) -> Result<BoundExpr> {
        if self.session.ctx.postgres.is_some() && [UNKNOWN, UNKNOWN_ARRAY].contains(&ty.name.as_str()) {
            return Ok(BoundExpr::null());
        }
        let Some(text) = self.session.ctx.parameters.get(name) else {
            return Err(Error::new(
                ErrorCode::UnknownQueryParameter,
                format!("the query parameter `{name}` is not set; pass it as `param_{name}`"),
            ));
        };
        let ty = basalt_sql::resolve_type(ty)?;
        if ty.accepts_null() && text == "\\N" {
            return convert(BoundExpr::null(), &ty, self.session.ctx);
        }
        let value = literal::string(&parameter_text(name, text, &ty)?);
        convert(value, &ty, self.session.ctx).map_err(|error| bad_parameter(name, &ty, error))
    }
}
