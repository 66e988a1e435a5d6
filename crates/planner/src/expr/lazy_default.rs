//! `dictGetOrDefault(d, 'a', key, default)`: computes the default only for missing keys.

use basalt_base::Result;
use basalt_functions::scalar::DICT_GET_FOUND;

use super::{Binder, convert, convert_exactly};
use crate::bound_expr::BoundExpr;

impl Binder<'_> {
    /// The call as a choice between the value found and the default. `None` if `name` takes no default, or a cheap
    /// constant one.
    ///
    /// The plan contains the lookup twice; common subexpression elimination computes it once.
    pub(super) fn bind_lazy_default(&self, name: &str, args: &[BoundExpr]) -> Result<Option<BoundExpr>> {
        let takes_default = name.starts_with("dictGet") && name.ends_with("OrDefault");
        let Some((default, key)) = args.split_last().filter(|_| takes_default) else { return Ok(None) };
        if default.constant().is_some() || key.len() < 3 {
            return Ok(None);
        }
        // Checks the arguments and gives the type.
        let ty = self.call(name, args.to_vec())?.ty;
        let told = self.call_function(&DICT_GET_FOUND, key.to_vec())?;
        let found = self.tuple_element_at(told.clone(), 2)?.into_condition()?;
        let value = convert(self.tuple_element_at(told, 1)?, &ty, self.session.ctx)?;
        let default = convert_exactly(default.clone(), &ty, self.session.ctx)?;
        self.choose(vec![found], vec![value, default]).map(Some)
    }
}
