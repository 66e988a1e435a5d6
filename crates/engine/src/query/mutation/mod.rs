//! Mutations: `ALTER TABLE ... UPDATE` and `DELETE`, `DELETE FROM`, from their text to changes of blocks.
//!
//! A mutation is stored as the text of its commands. Whoever applies it to a part plans the text against
//! the columns that the table has then, so that it survives restarts and changes of other columns.

mod change;
mod plan;

use std::sync::Arc;
use std::time::Duration;

use basalt_base::{Error, Result, bail};
use basalt_parts::{MutationStatus, TableParts};
use basalt_sql::ast::{AlterAction, Expr, Literal, ObjectName, Statement};

use super::{QueryContext, ddl};
use crate::Engine;
use crate::catalog::ObjectKey;
use crate::tables::{Table, TableDefinition};

use plan::plan_change;

/// The column that a lightweight DELETE sets to 0: it is in no table.
const ROW_EXISTS: &str = "_row_exists";

/// How long a waiting statement sleeps while others work on the parts.
const WAIT: Duration = Duration::from_millis(10);

/// The identifier of a mutation as users see it.
pub(crate) fn mutation_id(version: u64) -> String {
    format!("mutation_{version}.txt")
}

/// Records the commands as one mutation of `table`; answers with its number.
pub(super) fn begin(query: &Arc<QueryContext>, table: &dyn Table, commands: &[AlterAction]) -> Result<u64> {
    let Some(parts) = table.parts_of() else {
        return Err(table.refuses("a mutation"));
    };
    let definition = table.definition();
    // What cannot be planned is refused before anything is recorded.
    plan::plan(query, &definition, parts, None, commands)?;
    let text: Vec<String> = commands.iter().map(ToString::to_string).collect();
    let version = parts.begin_mutation(&text.join(", "))?;
    query.engine.wake_background();
    Ok(version)
}

/// `DELETE FROM t WHERE ..`.
pub(super) fn delete_from(query: &Arc<QueryContext>, name: &ObjectName, filter: &Expr) -> Result<()> {
    let key = ddl::key_of(query, name);
    let table = query.engine.catalog().table(&key.database, &key.name, "DELETE")?;
    if table.parts_of().is_none() {
        bail!(BadArguments, "DELETE query is not supported for table {}", table.definition().full_name());
    }
    let zero = Expr::Literal(Literal::UInt(0));
    let command = AlterAction::Update {
        assignments: vec![(ROW_EXISTS.to_owned(), zero)],
        partition: None,
        filter: filter.clone(),
    };
    let version = begin(query, table.as_ref(), &[command])?;
    if query.settings.lightweight_deletes_sync > 0 { wait(query, &key, &table, version) } else { Ok(()) }
}

/// Applies the mutation to all parts, or waits until others have. An error if it cannot be applied;
/// it is tried again in the background.
pub(super) fn wait(
    query: &Arc<QueryContext>,
    key: &ObjectKey,
    table: &Arc<dyn Table>,
    version: u64,
) -> Result<()> {
    let Some(parts) = table.parts_of() else { return Ok(()) };
    loop {
        query.check()?;
        let mut mutations = parts.mutations();
        mutations.retain(|status| status.version <= version);
        match mutations.last() {
            Some(own) if own.version == version && own.is_done() => return Ok(()),
            Some(own) if own.version == version => {}
            _ => bail!(Unfinished, "mutation '{}' was killed", mutation_id(version)),
        }
        // One that is older and fails keeps this one waiting.
        let failed = mutations.iter().find(|status| !status.is_done() && status.failure.is_some());
        if let Some((status, failure)) = failed.and_then(|status| Some((status, status.failure.as_ref()?))) {
            bail!(
                Unfinished,
                "exception happened during execution of mutation '{}' with part '{}', reason: '{}'; \
                 it will be tried again, KILL MUTATION ends it",
                mutation_id(status.version),
                failure.part,
                failure.reason
            );
        }
        if !step(&query.engine, key, table.as_ref(), parts) {
            std::thread::sleep(WAIT);
        }
    }
}

/// Applies what waits to one part; `false` if there was nothing to do.
pub(crate) fn step(engine: &Arc<Engine>, key: &ObjectKey, table: &dyn Table, parts: &TableParts) -> bool {
    let Some((part, mut waiting)) = parts.select_mutation() else { return false };
    let definition = table.definition();
    // Together first: each part is then written once. One that fails alone is the one to blame.
    for together in [true, false] {
        if !together {
            waiting.truncate(1);
        }
        let Some(&(version, _)) = waiting.last() else { return false };
        let is_last_try = waiting.len() == 1;
        let control = engine.work_control();
        let running = engine.background().enter(key, &[Arc::clone(&part)], Some(version), &control);
        let result = plan_change(engine, &definition, parts, &part, &waiting)
            .and_then(|change| Ok(parts.mutate(&part, version, &change, &control)?));
        drop(running);
        match result {
            Ok(mutated) => return mutated.is_some(),
            Err(_) if control.is_cancelled() => return false,
            // It was planned for columns that are others meanwhile.
            Err(_) if !Arc::ptr_eq(&definition, &table.definition()) => return true,
            Err(error) if is_last_try => {
                parts.mutation_failed(version, part.name(), &error.to_string());
                return false;
            }
            Err(_) => {}
        }
    }
    false
}

/// The commands of a mutation, from their text.
pub(crate) fn commands_of(text: &str) -> Result<Vec<AlterAction>> {
    match basalt_sql::parse_statement(format!("ALTER TABLE t {text}").as_bytes())? {
        Statement::Alter(alter) => Ok(alter.actions),
        other => Err(Error::logical(format!("`{other}` is not a mutation"))),
    }
}

/// `KILL MUTATION WHERE ..`: of all mutations that are not done, those that `is_meant` picks.
pub(super) fn kill(
    query: &Arc<QueryContext>,
    is_meant: impl Fn(&TableDefinition, &MutationStatus) -> bool,
) -> Result<()> {
    for (database, name, object) in query.engine.catalog().all_objects() {
        let crate::catalog::CatalogObject::Table(table) = object else { continue };
        let Some(parts) = table.parts_of() else { continue };
        let definition = table.definition();
        for status in parts.mutations() {
            if !status.is_done() && is_meant(&definition, &status) {
                parts.kill_mutation(status.version)?;
                let key = ObjectKey { database: database.clone(), name: name.clone() };
                query.engine.background().cancel_mutation(&key, status.version);
            }
        }
    }
    Ok(())
}
