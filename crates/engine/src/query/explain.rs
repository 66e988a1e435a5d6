//! EXPLAIN: the syntax tree, the printed statement, or the operators of a query, a line a row.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_base::{Column, Columns, Error, Result, SqlType};
use basalt_sql::ast::{Explain, ExplainKind, Statement};
use datafusion::physical_plan::displayable;

use super::running::Running;
use super::{select, show};
use crate::execution::Execution;
use crate::outcome::Outcome;
use crate::provider::explain_indexes;
use crate::request::Request;
use crate::settings::literal_text;

/// Runs an EXPLAIN.
pub(super) async fn rows(running: Running, ast: Explain, request: Request) -> Result<Outcome> {
    let (query, format) = (Arc::clone(&running.query), ast.format.clone());
    match explain(&query, ast, request.parameters.clone()).await {
        Ok(text) => {
            let columns = Columns::new(vec![Column::new("explain", SqlType::String)]);
            let lines = text.lines().map(|line| vec![line.to_owned()]).collect();
            let block = show::strings_block(&columns, lines)?;
            Ok(Outcome::Rows(Box::new(select::ready_rows(&running, columns, block, &request, format))))
        }
        Err(error) => {
            running.finish(Some(&error));
            Err(error)
        }
    }
}

async fn explain(
    query: &Arc<Execution>,
    Explain { kind, settings, statement, .. }: Explain,
    parameters: HashMap<String, String>,
) -> Result<String> {
    match kind {
        ExplainKind::Ast => return Ok(format!("{statement:#?}")),
        ExplainKind::Syntax => return Ok(statement.to_string()),
        ExplainKind::Estimate => return Err(Error::not_implemented("EXPLAIN ESTIMATE")),
        ExplainKind::Analyze => return Err(Error::not_implemented("EXPLAIN ANALYZE")),
        ExplainKind::Plan | ExplainKind::Pipeline => {}
    }
    let Statement::Query(ast) = *statement else {
        return Err(Error::not_implemented("EXPLAIN of a statement other than SELECT"));
    };
    let (_, physical) = select::plan_to_operators(query, *ast, parameters).await?;
    let text = displayable(physical.plan.as_ref()).indent(false).to_string();
    let wants_indexes =
        settings.iter().any(|setting| setting.name == "indexes" && literal_text(&setting.value) == "1");
    if wants_indexes { explain_indexes(&physical.plan, &text) } else { Ok(text) }
}
