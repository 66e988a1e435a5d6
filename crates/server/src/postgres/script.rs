//! The statements of one simple message.

use basalt_engine::postgres::{self, ParameterValue, PostgresCommand, PostgresParameter};
use basalt_engine::{Error, Result};

use super::client::Client;
use super::execution::{self, Started};
use super::failure::Outcome;
use super::prepared::{Prepared, text_fields};
use super::{command, copy_in, copy_out};

/// Runs the statements of a script one after the other, up to the first that fails.
pub(super) async fn run(client: &mut Client, script: &[u8]) -> Result<()> {
    if let Err(error) = client.session()?.check_statement_size(script) {
        client.fail(&error.into());
        return Ok(());
    }
    let statements = match postgres::split(script) {
        Ok(statements) => statements,
        Err(error) => {
            client.fail(&Error::from(error).into());
            return Ok(());
        }
    };
    if statements.is_empty() {
        client.answers.empty_query();
    }
    for statement in statements {
        if let Err(failure) = run_statement(client, &script[statement]).await? {
            client.fail(&failure);
            return Ok(());
        }
        client.flush_many().await?;
    }
    Ok(())
}

async fn run_statement(client: &mut Client, text: &[u8]) -> Result<Outcome<()>> {
    let command = match postgres::parse_command(text) {
        Ok(command) => command,
        Err(error) => return Ok(Err(Error::from(error).into())),
    };
    match command {
        PostgresCommand::Statement { tag } => {
            let prepared = Prepared::for_engine(text.to_vec(), tag);
            run_prepared(client, &prepared, Vec::new()).await
        }
        PostgresCommand::Execute { name, values } => {
            let prepared = match client.statement(&name) {
                Ok(prepared) => prepared,
                Err(failure) => return Ok(Err(failure)),
            };
            let parameters = given_values(&prepared, values);
            run_prepared(client, &prepared, parameters).await
        }
        PostgresCommand::Copy(copy) => run_copy(client, text, &copy).await,
        other => Ok(command::run(client, &other, text).await?.map(|answer| {
            if !answer.columns.is_empty() {
                client.answers.row_description(&text_fields(&answer.columns, &[]));
            }
            answer.put_rows(0, usize::MAX, &mut client.answers);
            client.answers.command_complete(&answer.tag);
        })),
    }
}

/// The values of EXECUTE, with the types of PREPARE.
pub(super) fn given_values(prepared: &Prepared, values: Vec<ParameterValue>) -> Vec<PostgresParameter> {
    let types = prepared.declared.iter().map(|declared| declared.ty.clone()).chain(std::iter::repeat(None));
    values.into_iter().zip(types).map(|(value, ty)| PostgresParameter { ty, value }).collect()
}

async fn run_prepared(
    client: &mut Client,
    prepared: &Prepared,
    parameters: Vec<PostgresParameter>,
) -> Result<Outcome<()>> {
    let started = match execution::start_checked(client, prepared, parameters, &[]).await? {
        Ok(started) => started,
        Err(failure) => return Ok(Err(failure)),
    };
    match started {
        Started::Done(summary) => {
            let tag = execution::done_tag(prepared.engine_tag().unwrap_or("OK"), &summary);
            client.answers.command_complete(&tag);
        }
        Started::Rows(cursor) => {
            client.answers.row_description(&cursor.fields);
            match execution::send_rows(client, cursor, 0).await? {
                Ok((cursor, _)) => client.answers.command_complete(&cursor.tag()),
                Err(failure) => return Ok(Err(failure)),
            }
        }
    }
    Ok(Ok(()))
}

/// COPY from or to the client, with the message of its end.
pub(super) async fn run_copy(
    client: &mut Client,
    text: &[u8],
    copy: &postgres::PostgresCopy,
) -> Result<Outcome<()>> {
    if let Err(failure) = client.transaction.check() {
        return Ok(Err(failure));
    }
    let copied: Outcome<u64> = match &copy.direction {
        postgres::CopyDirection::In { target, query } => {
            client.transaction.write();
            copy_in::run(client, text, target, query, &copy.options).await?
        }
        postgres::CopyDirection::Out { query } => copy_out::run(client, query, &copy.options).await?,
    };
    Ok(copied.map(|rows| client.answers.command_complete(&format!("COPY {rows}"))))
}
