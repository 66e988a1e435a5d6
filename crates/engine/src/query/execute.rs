//! From the text of a statement to its outcome.

use std::sync::Arc;
use std::time::Instant;

use basalt_access::Access;
use basalt_base::query::{MemoryTracker, QueryStatus, TimeLimit, checkpoint, enter, in_query};
use basalt_base::{Error, Result, bail};
use basalt_sql::ast::{AccessStatement, Setting, Statement};
use basalt_sql::hide_passwords;
use uuid::Uuid;

use super::running::Running;
use super::statement::{KILL, changes_definitions, clause_settings, kind_name, may_run_readonly};
use super::{
    check_table, ddl, explain, insert, kill, permission, select, show, system_command, temporary_table,
};
use crate::context::QueryContext;
use crate::execution::Execution;
use crate::outcome::{Outcome, Summary};
use crate::request::Request;
use crate::session_state::SessionState;
use crate::settings::{Settings, literal_text};
use crate::temporary_tables::TemporaryTables;

/// `SET param_name = 'text'` gives `{name:Type}` its value.
const PARAMETER: &str = "param_";

/// Runs one statement of a session.
pub(crate) async fn execute(session: &mut SessionState, mut request: Request) -> Result<Outcome> {
    for (name, text) in &session.parameters {
        request.parameters.entry(name.clone()).or_insert_with(|| text.clone());
    }
    let access = session.access()?;
    session.settings.constrain(&access.constraints);
    let mut settings = session.settings.clone();
    if request.reads_only && settings.readonly == 0 {
        settings.readonly = 2;
    }
    let changed = settings.change(&request.settings);
    let reading = reading(&request, &settings);
    let parsed = {
        let _entered = enter(Some(Arc::clone(&reading)));
        parse(session, &request, &settings).and_then(|statement| checkpoint().map(|()| statement))
    };
    let statement = match parsed {
        Ok(statement) => statement,
        Err(error) => {
            let error = changed.err().unwrap_or(error);
            let query = context(session, &access, &request, settings);
            let instance = &session.instance;
            return Err(match text_before_secrets(&request.text) {
                None => refused(&Execution::new(instance, Arc::new(query)), error),
                Some(text) => {
                    let shown = Error::new(error.code(), "a statement with a password does not parse");
                    refused(&Execution::new(instance, Arc::new(query.shown_as(text))), shown);
                    error
                }
            });
        }
    };
    let permitted = changed.and_then(|()| permit(&statement, &mut settings));
    let query = context(session, &access, &request, settings).of_kind(kind_name(&statement));
    let urgent = query.kind == KILL || request.monitors;
    let query = Execution::new(
        &session.instance,
        Arc::new(match text_without_secrets(&statement, &query.text) {
            Some(text) => query.shown_as(text),
            None => query,
        }),
    );
    let permitted = permitted
        .and_then(|()| permission::check(&query, &statement))
        .and_then(|()| query.instance.access_control.count_start(&query));
    match permitted.and_then(|()| query.instance.processes().enter(&query.context, urgent)) {
        Ok(entry) => {
            let status = Arc::clone(query.status());
            status.memory().take_over(reading.memory());
            let running = Running::new(query, entry);
            in_query(Some(status), dispatch(session, running, statement, request)).await
        }
        Err(error) => Err(refused(&query, error)),
    }
}

/// Writes into the log that the query was refused before its start.
fn refused(query: &Execution, error: Error) -> Error {
    query.log_end(Some(&error));
    error
}

/// Applies the statement's own settings, and checks whether it may run under the settings before them.
fn permit(statement: &Statement, settings: &mut Settings) -> Result<()> {
    let readonly = settings.readonly;
    settings.change(&changes(&clause_settings(statement)))?;
    if readonly > 0 && !may_run_readonly(statement, readonly) {
        bail!(ReadOnly, "readonly is {readonly}: a {} statement may not run", kind_name(statement));
    }
    if !settings.allow_ddl && changes_definitions(statement) {
        bail!(QueryIsProhibited, "allow_ddl = 0: a {} statement may not run", kind_name(statement));
    }
    Ok(())
}

/// Names and texts of settings.
pub(crate) fn changes(settings: &[Setting]) -> Vec<(String, String)> {
    settings.iter().map(|setting| (setting.name.clone(), literal_text(&setting.value))).collect()
}

/// Runs SET. The settings of `query` may be stricter than the session's: a change that they refuse does not reach the
/// session.
fn set(session: &mut SessionState, query: &Execution, list: &[Setting], defaults: &[String]) -> Result<()> {
    let (parameters, mut settings): (Vec<_>, Vec<_>) =
        changes(list).into_iter().partition(|(name, _)| name.starts_with(PARAMETER));
    for name in defaults {
        // A name that is not known has no value to take back.
        if let Ok(value) = Settings::default().get(name) {
            settings.push((name.clone(), value));
        }
    }
    query.settings.clone().change(&settings)?;
    session.settings.change(&settings)?;
    let values = parameters.into_iter().map(|(name, text)| (name[PARAMETER.len()..].to_owned(), text));
    session.parameters.extend(values);
    Ok(())
}

/// The status of a query whose statement is still being parsed.
fn reading(request: &Request, settings: &Settings) -> Arc<QueryStatus> {
    let memory = MemoryTracker::new(settings.max_memory_usage);
    let time = TimeLimit::seconds(Instant::now(), settings.max_execution_time);
    let id = request.query_id.as_deref().unwrap_or_default();
    Arc::new(QueryStatus::new(id, request.cancel.flag(), time, memory))
}

/// Fails if a statement is longer than `max_query_size`.
pub(crate) fn check_size(text: &[u8], settings: &Settings) -> Result<()> {
    let (bytes, most) = (text.len() as u64, settings.max_query_size);
    if bytes > most {
        bail!(SyntaxError, "the statement has {bytes} bytes, more than max_query_size, {most}");
    }
    Ok(())
}

fn parse(session: &SessionState, request: &Request, settings: &Settings) -> Result<Statement> {
    check_size(&request.text, settings)?;
    if session.postgres.is_some() {
        return Ok(basalt_sql::parse_postgres(&request.text, &request.postgres_parameters)?.statement);
    }
    Ok(basalt_sql::parse_statement_with(&request.text, &request.parameters)?)
}

/// The text that the log and the list of processes show of a statement with a password.
fn text_without_secrets(statement: &Statement, text: &str) -> Option<String> {
    match statement {
        Statement::CreateDictionary(create) => {
            let shown = create.as_ref().clone().without_secrets();
            (shown != **create).then(|| shown.to_string())
        }
        Statement::CreateNamedCollection(create) => Some(create.clone().without_secrets().to_string()),
        Statement::AlterNamedCollection(alter) => Some(alter.clone().without_secrets().to_string()),
        Statement::Access(statement) => match statement.as_ref() {
            AccessStatement::User(user) => Some(user.clone().without_secrets().to_string()),
            _ => None,
        },
        _ => hide_passwords(text),
    }
}

/// What the log shows of a statement that does not parse and may have a password.
fn text_before_secrets(text: &[u8]) -> Option<String> {
    let Some(at) =
        text.windows(SECRETS_FOLLOW.len()).position(|word| word.eq_ignore_ascii_case(SECRETS_FOLLOW))
    else {
        return hide_passwords(&String::from_utf8_lossy(&text[..text.len().min(TEXT_BYTES_MAX)]));
    };
    Some(format!("{} ..", String::from_utf8_lossy(&text[..at + SECRETS_FOLLOW.len()])))
}

/// The word before passwords.
const SECRETS_FOLLOW: &[u8] = b"IDENTIFIED";

pub(super) fn context(
    session: &SessionState,
    access: &Arc<Access>,
    request: &Request,
    settings: Settings,
) -> QueryContext {
    let id = request.query_id.clone().unwrap_or_else(|| Uuid::new_v4().to_string());
    let text = &request.text[..request.text.len().min(TEXT_BYTES_MAX)];
    let (services, cancel) = (session.instance.services(), request.cancel.clone());
    let query = QueryContext::new(services, id, &String::from_utf8_lossy(text), settings, cancel);
    let tables = match request.external_tables.is_empty() {
        true => Arc::clone(&session.temporary),
        false => Arc::new(TemporaryTables::of_statement(&session.temporary)),
    };
    let database = match query.settings.database.as_str() {
        "" => session.database.clone(),
        name => name.to_owned(),
    };
    let query = query.asked_by(access, &database, request.interface).of_client(&session.client);
    query.finding(&tables).of_postgres(session.postgres.clone())
}

/// Bytes of a statement that the log and the list of processes keep.
const TEXT_BYTES_MAX: usize = 100_000;

/// Runs the statement, and logs its end unless rows are still to be fetched.
async fn dispatch(
    session: &mut SessionState,
    running: Running,
    statement: Statement,
    mut request: Request,
) -> Result<Outcome> {
    let query = Arc::clone(&running.query);
    let tables = std::mem::take(&mut request.external_tables);
    if let Err(error) = temporary_table::receive(&query, tables).await {
        running.finish(Some(&error));
        return Err(error);
    }
    let result = match statement {
        Statement::Query(ast) => return select::rows(running, *ast, request).await,
        statement if show::shows(&statement) => return show::rows(running, statement, request).await,
        Statement::Explain(ast) => return explain::rows(running, ast, request).await,
        Statement::Check(check) => return check_table::rows(running, check, request).await,
        Statement::KillQuery { filter, mode } => return kill::rows(running, &filter, mode, request).await,
        Statement::Insert(ast) => insert::insert(&query, *ast, request).await,
        Statement::Copy(ast) => insert::copy(&query, *ast, request).await,
        Statement::Use(database) => session.use_database(&database),
        Statement::Set { changes, defaults } => set(session, &query, &changes, &defaults),
        Statement::Access(statement) if matches!(*statement, AccessStatement::SetRole(_)) => {
            session.set_role(*statement)
        }
        Statement::System(command) => system_command::run(&query, command).await,
        other => ddl::run(&query, other, request.parameters).await,
    };
    running.finish(result.as_ref().err());
    result?;
    Ok(Outcome::Done(Summary { query_id: query.id.clone(), progress: query.progress.snapshot() }))
}
