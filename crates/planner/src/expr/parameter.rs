//! Query parameters: `{name:Type}`.

use basalt_base::{Error, ErrorCode, Result};
use basalt_functions::{bad_parameter, parameter_text};
use basalt_sql::ast::TypeName;

use super::{Binder, convert, literal};
use crate::bound_expr::BoundExpr;

impl Binder<'_> {
    /// `{name:Type}`: the text given with the query, as a value of that type.
    pub(super) fn bind_parameter(&self, name: &str, ty: &TypeName) -> Result<BoundExpr> {
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
