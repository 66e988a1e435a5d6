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

/// The rule: replaces operators bottom up. Schemas must not change.
pub struct EachOperator {
    name: &'static str,
    replace: fn(&Arc<dyn ExecutionPlan>) -> Replacement,
}

impl EachOperator {
    pub const fn new(
        name: &'static str,
        replace: fn(&Arc<dyn ExecutionPlan>) -> Replacement,
    ) -> EachOperator {
        EachOperator { name, replace }
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
        plan.transform_up(|node| {
            let replacement = (self.replace)(&node)?;
            Ok(replacement.map_or_else(|| Transformed::no(node), Transformed::yes))
        })
        .data()
    }

    fn name(&self) -> &str {
        self.name
    }

    fn schema_check(&self) -> bool {
        true
    }
}
