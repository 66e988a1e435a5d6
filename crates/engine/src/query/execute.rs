//! From the text of a statement to its outcome.

use std::sync::Arc;

use basalt_base::{Result, bail};
use basalt_sql::ast::Statement;
use uuid::Uuid;

use super::running::Running;
use super::statement::{clause_settings, kind_name, literal_text, may_run_readonly};
use super::{QueryContext, QueryLogKind, ddl, explain, insert, kill, select, show, system_command};
use crate::outcome::{Outcome, Summary};
use crate::request::Request;
use crate::session::SessionState;
use crate::settings::Settings;

/// Runs one statement of a session.
pub(crate) async fn execute(session: &mut SessionState, request: Request) -> Result<Outcome> {
    let statement = match parse(&request, &session.settings) {
        Ok(statement) => statement,
        Err(error) => {
            let query = context(session, &request, session.settings.clone());
            let log = query.engine.query_log();
            log.record(&query, QueryLogKind::ExceptionBeforeStart, "", Some(&error));
            return Err(error);
        }
    };
    let mut settings = session.settings.clone();
    for (name, value) in &request.settings {
        settings.set(name, value)?;
    }
    let readonly = settings.readonly;
    for setting in clause_settings(&statement) {
        settings.set(&setting.name, &literal_text(&setting.value))?;
    }
    if readonly > 0 && !may_run_readonly(&statement, readonly) {
        bail!(ReadOnly, "readonly = {readonly}: a {} statement may not run", kind_name(&statement));
    }
    let query = context(session, &request, settings);
    let query = Arc::new(match text_without_secrets(&statement) {
        Some(text) => query.shown_as(text),
        None => query,
    });
    let kind = kind_name(&statement);
    let entry = query.engine.processes().enter(&query)?;
    query.engine.query_log().record(&query, QueryLogKind::Start, kind, None);
    let running = Running::new(query, kind, entry);
    dispatch(session, running, statement, request).await
}

fn parse(request: &Request, settings: &Settings) -> Result<Statement> {
    let (bytes, most) = (request.text.len() as u64, settings.max_query_size);
    if bytes > most {
        bail!(SyntaxError, "the statement has {bytes} bytes, more than max_query_size, {most}");
    }
    Ok(basalt_sql::parse_statement(&request.text)?)
}

/// What the log and the list of processes show of a statement that has a password in it.
fn text_without_secrets(statement: &Statement) -> Option<String> {
    match statement {
        Statement::CreateDictionary(create) => {
            let shown = create.as_ref().clone().without_secrets();
            (shown != **create).then(|| shown.to_string())
        }
        Statement::CreateNamedCollection(create) => Some(create.clone().without_secrets().to_string()),
        Statement::AlterNamedCollection(alter) => Some(alter.clone().without_secrets().to_string()),
        _ => None,
    }
}

fn context(session: &SessionState, request: &Request, settings: Settings) -> QueryContext {
    let id = request.query_id.clone().unwrap_or_else(|| Uuid::new_v4().to_string());
    let text = &request.text[..request.text.len().min(TEXT_BYTES_MAX)];
    QueryContext::new(Arc::clone(&session.engine), id, &String::from_utf8_lossy(text), settings)
        .asked_by(&session.user, &session.database, request.interface)
        .cancelled_by(request.cancel.clone())
}

/// Bytes of a statement that the log and the list of processes keep.
const TEXT_BYTES_MAX: usize = 100_000;

/// Runs the statement; the log gets its end unless rows are still to be fetched.
async fn dispatch(
    session: &mut SessionState,
    running: Running,
    statement: Statement,
    request: Request,
) -> Result<Outcome> {
    let query = Arc::clone(&running.query);
    let result = match statement {
        Statement::Query(ast) => return select::rows(running, *ast, request).await,
        statement if show::shows(&statement) => return show::rows(running, statement, request).await,
        Statement::Explain(ast) => return explain::rows(running, ast, request).await,
        Statement::KillQuery { filter, sync } => return kill::rows(running, &filter, sync, request).await,
        Statement::Insert(ast) => insert::insert(&query, *ast, request).await,
        Statement::Copy(ast) => insert::copy(&query, *ast, request).await,
        Statement::Use(database) => session.use_database(&database),
        Statement::Set(list) => {
            list.iter().try_for_each(|setting| session.set(&setting.name, &literal_text(&setting.value)))
        }
        Statement::System(command) => system_command::run(&query, command).await,
        other => ddl::run(&query, other).await,
    };
    running.finish(result.as_ref().err());
    result?;
    Ok(Outcome::Done(Summary { query_id: query.id.clone(), progress: query.progress.snapshot() }))
}
