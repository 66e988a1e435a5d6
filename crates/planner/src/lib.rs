//! What does that mean against this catalog? Syntax tree to DataFusion `LogicalPlan`.

mod catalog;

pub use catalog::{
    Catalog, PlanSettings, PlannerContext, ResolvedTable, SubqueryRunner, TableColumn, TableOptions,
};
