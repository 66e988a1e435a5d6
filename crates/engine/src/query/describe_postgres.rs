//! The parameters and the columns of a statement of the Postgres interface, without running it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use basalt_base::{Column, Columns, Result, SqlType};
use basalt_planner::{PostgresPlanning, plan_query};
use basalt_sql::ast::{self, InsertTarget, Statement};
use basalt_sql::postgres::{PostgresParameter, PostgresStatement};

use super::execute::{context, execute};
use super::permission;
use super::select::postgres_types;
use crate::execution::Execution;
use crate::outcome::{Outcome, PostgresDescription};
use crate::planning::{PlanningContext, check_reads};
use crate::postgres_type::PostgresType;
use crate::request::{Interface, Request};
use crate::session_state::SessionState;

/// Describes a statement whose parameters may have declared types, and need no values.
pub(crate) async fn describe(
    session: &mut SessionState,
    text: &[u8],
    parameters: &[PostgresParameter],
) -> Result<PostgresDescription> {
    let parsed = basalt_sql::parse_postgres(text, parameters)?;
    let request = Request { interface: Interface::Postgres, ..Request::new(text) };
    let access = session.access()?;
    let context = context(session, &access, &request, session.settings.clone());
    let query = Execution::new(&session.instance, Arc::new(context));
    permission::check(&query, &parsed.statement)?;
    let mut types = written_types(&parsed, parameters)?;
    let mut exact = None;
    let columns = match &parsed.statement {
        Statement::Query(ast) => {
            let ast = ast.as_ref().clone();
            let plan = move |query: &Arc<Execution>| described_query(query, &ast);
            let (columns, exact_types, inferred) = query.on_blocking_thread("planning", plan).await?;
            for (number, ty) in inferred {
                types.entry(number).or_insert(ty);
            }
            exact = Some(exact_types);
            Some(columns)
        }
        Statement::Insert(insert) => {
            add_inserted(&query, insert, &parsed.inserted, &mut types)?;
            None
        }
        Statement::Explain(_) => Some(vec![Column::new("explain", SqlType::String)]),
        Statement::Show(_) | Statement::Describe(_) | Statement::Exists { .. } | Statement::Check(_) => {
            match execute(session, request).await? {
                Outcome::Rows(rows) => Some(rows.columns().iter().cloned().collect()),
                Outcome::Done(_) => None,
            }
        }
        _ => None,
    };
    let count = parsed.parameter_count.max(parameters.len());
    let parameters: Vec<SqlType> =
        (1..=count).map(|number| types.remove(&number).unwrap_or(SqlType::String)).collect();
    let is_cast = |number: usize| parsed.cast_types.iter().any(|(cast, _)| *cast == number);
    let parameter_types = parameters.iter().zip(1..).map(|(ty, number)| match is_cast(number) {
        true => PostgresType::of_cast(ty),
        false => PostgresType::of_type(ty),
    });
    let parameter_types = parameter_types.collect();
    let columns = columns.map(Columns::new);
    let postgres = match exact {
        Some(exact) => exact,
        None => columns.as_ref().map(|columns| postgres_types(columns, None)).unwrap_or_default(),
    };
    Ok(PostgresDescription { parameters, parameter_types, columns, postgres_types: postgres })
}

/// The types that the client declared, and those of casts.
fn written_types(
    parsed: &PostgresStatement,
    parameters: &[PostgresParameter],
) -> Result<BTreeMap<usize, SqlType>> {
    let declared =
        parameters.iter().zip(1..).filter_map(|(parameter, number)| Some((number, parameter.ty.as_ref()?)));
    let cast = parsed.cast_types.iter().map(|(number, ty)| (*number, ty));
    let mut types = BTreeMap::new();
    for (number, ty) in declared.chain(cast) {
        types.entry(number).or_insert(basalt_sql::resolve_type(ty)?);
    }
    Ok(types)
}

type DescribedQuery = (Vec<Column>, Vec<PostgresType>, BTreeMap<usize, SqlType>);

fn described_query(query: &Arc<Execution>, ast: &ast::Query) -> Result<DescribedQuery> {
    let planning = PlanningContext::new(query, HashMap::new());
    let postgres = PostgresPlanning::default();
    let planned = plan_query(ast, &planning.postgres_context(&postgres))?;
    check_reads(query, &planned.plan)?;
    let exact = postgres_types(&planned.columns, Some(&planned.plan));
    Ok((planned.columns.iter().cloned().collect(), exact, postgres.parameter_types()))
}

/// Parameters that are whole values have the types of their columns.
fn add_inserted(
    query: &Execution,
    insert: &ast::Insert,
    inserted: &[(usize, usize)],
    types: &mut BTreeMap<usize, SqlType>,
) -> Result<()> {
    let InsertTarget::Table(name) = &insert.target else { return Ok(()) };
    let key = query.key_of(name);
    let definition = query.instance.catalog().table(&key.database, &key.name, "INSERT")?.definition();
    let names: Vec<&str> = match insert.columns.is_empty() {
        true => definition.columns.iter().filter(|c| c.is_ordinary()).map(|c| c.name.as_str()).collect(),
        false => insert.columns.iter().map(String::as_str).collect(),
    };
    for (number, position) in inserted {
        if let Some(column) = names.get(*position).and_then(|name| definition.column(name)) {
            types.entry(*number).or_insert_with(|| column.ty.stripped().clone());
        }
    }
    Ok(())
}
