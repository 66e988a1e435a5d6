//! A rule for physical plans that rewrites one operator at a time.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

/// The operator that replaces another one; `None` if it stays.
pub type Replacement = Result<Option<Arc<dyn ExecutionPlan>>>;

/// The rule: replaces operators. Schemas must not change.
pub struct EachOperator {
    name: &'static str,
    replace: fn(&Arc<dyn ExecutionPlan>) -> Replacement,
    order: Order,
}

#[derive(Clone, Copy)]
enum Order {
    BottomUp,
    TopDown,
}

impl EachOperator {
    /// A rule that replaces the inputs of an operator before the operator.
    pub const fn new(
        name: &'static str,
        replace: fn(&Arc<dyn ExecutionPlan>) -> Replacement,
    ) -> EachOperator {
        EachOperator { name, replace, order: Order::BottomUp }
    }

    /// A rule that replaces an operator before its inputs.
    pub(crate) const fn top_down(
        name: &'static str,
        replace: fn(&Arc<dyn ExecutionPlan>) -> Replacement,
    ) -> EachOperator {
        EachOperator { name, replace, order: Order::TopDown }
    }
}

impl fmt::Debug for EachOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PhysicalOptimizerRule for EachOperator {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let replaced = |node: Arc<dyn ExecutionPlan>| {
            let replacement = (self.replace)(&node)?;
            Ok(replacement.map_or_else(|| Transformed::no(node), Transformed::yes))
        };
        match self.order {
            Order::BottomUp => plan.transform_up(replaced).data(),
            Order::TopDown => plan.transform_down(replaced).data(),
        }
    }

    fn name(&self) -> &str {
        self.name
    }

    fn schema_check(&self) -> bool {
        true
    }
}
