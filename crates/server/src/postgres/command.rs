//! Statements that a session answers itself.

use basalt_engine::Result;
use basalt_engine::postgres::PostgresCommand;

use super::answer::Answer;
use super::client::Client;
use super::failure::{Failure, Outcome, state};
use super::prepared::Prepared;
use super::{execution, variables};

/// The columns of the answer to a command, without running it.
pub(super) fn columns(command: &PostgresCommand) -> Vec<String> {
    match command {
        PostgresCommand::Show { name } => variables::shown_columns(name),
        _ => Vec::new(),
    }
}

/// Runs a command that is neither a statement of the engine, nor COPY, nor EXECUTE.
pub(super) async fn run(
    client: &mut Client,
    command: &PostgresCommand,
    text: &[u8],
) -> Result<Outcome<Answer>> {
    match command {
        PostgresCommand::Begin => {
            let tagged = client.transaction.begin();
            Ok(Ok(tagged_answer(client, tagged)))
        }
        PostgresCommand::Commit => {
            let ended = client.transaction.commit();
            Ok(ended.map(|tagged| tagged_answer(client, tagged)))
        }
        PostgresCommand::Rollback => {
            let ended = client.transaction.rollback();
            Ok(ended.map(|tagged| tagged_answer(client, tagged)))
        }
        PostgresCommand::Savepoint { tag } => {
            let ended = client.transaction.savepoint(tag);
            Ok(ended.map(|tagged| tagged_answer(client, tagged)))
        }
        other => match client.transaction.check() {
            Ok(()) => run_checked(client, other, text).await,
            Err(failure) => Ok(Err(failure)),
        },
    }
}

fn tagged_answer(client: &mut Client, (tag, warning): super::transaction::Tagged) -> Answer {
    client.warn(warning);
    Answer::of_tag(tag)
}

async fn run_checked(client: &mut Client, command: &PostgresCommand, text: &[u8]) -> Result<Outcome<Answer>> {
    Ok(match command {
        PostgresCommand::Set { name, value } => return variables::set(client, name, value.as_deref()).await,
        PostgresCommand::Reset { name } => match name {
            Some(name) => return variables::set(client, name, None).await,
            None => variables::reset(client).map(|()| Answer::of_tag("RESET")),
        },
        PostgresCommand::Settings => return run_settings(client, text).await,
        PostgresCommand::Show { name } => variables::show(client.session()?, name),
        PostgresCommand::DiscardAll => {
            client.drop_portals();
            client.drop_statements(None);
            variables::reset(client).map(|()| Answer::of_tag("DISCARD ALL"))
        }
        PostgresCommand::Deallocate { name } => match client.drop_statements(name.as_deref()) {
            true => Ok(Answer::of_tag(if name.is_some() { "DEALLOCATE" } else { "DEALLOCATE ALL" })),
            false => Err(Failure::new(
                state::INVALID_STATEMENT_NAME,
                format!("prepared statement \"{}\" does not exist", name.as_deref().unwrap_or_default()),
            )),
        },
        PostgresCommand::Prepare { name, types, statement } => {
            prepare(client, name, types, &text[statement.clone()]).map(|()| Answer::of_tag("PREPARE"))
        }
        PostgresCommand::Ignored { tag } => Ok(Answer::of_tag(tag)),
        _ => Err(Failure::new(state::FEATURE_NOT_SUPPORTED, "this statement has no place here")),
    })
}

fn prepare(
    client: &mut Client,
    name: &str,
    types: &[basalt_engine::postgres::TypeName],
    text: &[u8],
) -> Outcome<()> {
    use basalt_engine::postgres::{ParameterValue, PostgresParameter};
    let declared = |ty: &basalt_engine::postgres::TypeName| PostgresParameter {
        ty: Some(ty.clone()),
        value: ParameterValue::Unbound,
    };
    let prepared =
        Prepared::with_types(text.to_vec(), types.iter().map(declared).collect(), vec![0; types.len()])?;
    client.keep_statement(name.to_owned(), prepared)
}

/// SET of ClickHouse's form, which the engine runs.
async fn run_settings(client: &mut Client, text: &[u8]) -> Result<Outcome<Answer>> {
    let prepared = Prepared::for_engine(text.to_vec(), "SET");
    let started = execution::start(client, &prepared, Vec::new(), &[]).await?;
    Ok(started.map(|_| Answer::of_tag("SET")))
}
