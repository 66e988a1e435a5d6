//! Joins inside a subquery: which side the arguments are joined into.

use std::sync::Arc;

use basalt_base::Result;
use datafusion::logical_expr::{Expr, Join, JoinType, LogicalPlan};

use super::unnest::{Domain, Unnested, not_built};
use crate::bound_expr::{case, default_value};
use crate::float_keys;
use crate::plan::{JoinKeys, plan_error};

impl Domain<'_> {
    pub(super) fn join(&self, node: Join) -> Result<Unnested> {
        if node.join_type == JoinType::Full {
            return Err(not_built("FULL JOIN"));
        }
        let (left, right, mut on) = self.sides(&node)?;
        for (one, other) in node.on {
            on.push((self.replace(one, &left.keys)?, self.replace(other, &right.keys)?));
        }
        let is_of_right =
            matches!(node.join_type, JoinType::Right | JoinType::RightSemi | JoinType::RightAnti);
        let keys = if left.keys.is_empty() || is_of_right { right.keys } else { left.keys };
        let filter = node.filter.map(|filter| self.replace(filter, &keys)).transpose()?;
        let join = Join::try_new(
            Arc::new(left.plan),
            Arc::new(right.plan),
            on,
            filter,
            node.join_type,
            node.join_constraint,
            node.null_equality,
            node.null_aware,
        );
        Ok(Unnested::new(LogicalPlan::Join(join.map_err(plan_error)?), keys))
    }

    /// The sides of a join, and the keys that match rows of the same domain row. A side without arguments stays as it
    /// is if every row of the join has a row of the other side.
    fn sides(&self, node: &Join) -> Result<(Unnested, Unnested, JoinKeys)> {
        let left_uses = self.is_used_in(&node.left) || node.on.iter().any(|(key, _)| self.is_named_in(key));
        let right_uses = self.is_used_in(&node.right) || node.on.iter().any(|(_, key)| self.is_named_in(key));
        let (left, right) = (node.left.as_ref().clone(), node.right.as_ref().clone());
        match node.join_type {
            JoinType::Inner | JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti if !right_uses => {
                Ok((self.unnest(left)?, Unnested::new(right, Vec::new()), Vec::new()))
            }
            JoinType::Inner | JoinType::Right | JoinType::RightSemi | JoinType::RightAnti if !left_uses => {
                Ok((Unnested::new(left, Vec::new()), self.unnest(right)?, Vec::new()))
            }
            _ => {
                let (left, right) = (self.unnest(left)?, self.unnest(right)?);
                let on = self.same_arguments(&left.key_exprs(), &right.key_exprs())?;
                Ok((left, right, on))
            }
        }
    }

    /// The keys of a join of rows with equal arguments, where NULL equals NULL.
    pub(super) fn same_arguments(&self, left: &[Expr], right: &[Expr]) -> Result<Vec<(Expr, Expr)>> {
        let mut pairs = Vec::with_capacity(left.len());
        for (argument, (left, right)) in self.arguments.iter().zip(left.iter().zip(right)) {
            let ty = argument.value.ty.stripped();
            let key = |value: Expr| if ty.is_float() { float_keys::bits(value) } else { value };
            if !argument.value.accepts_null() {
                pairs.push((key(left.clone()), key(right.clone())));
                continue;
            }
            let default = default_value(ty)?;
            let value =
                |side: &Expr| key(case(vec![(side.clone().is_not_null(), side.clone())], default.clone()));
            pairs.push((value(left), value(right)));
            pairs.push((left.clone().is_null(), right.clone().is_null()));
        }
        Ok(pairs)
    }
}
