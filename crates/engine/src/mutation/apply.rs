//! Recording a mutation, and applying those that wait to parts.

use std::sync::Arc;
use std::time::Duration;

use basalt_base::{Result, bail};
use basalt_parts::TableParts;
use basalt_sql::ast::AlterAction;

use super::command::mutation_id;
use super::plan::{plan, plan_change};
use crate::execution::Execution;
use crate::instance::Instance;
use crate::names::ObjectKey;
use crate::tables::{Table, parts_of};

/// How long a waiting statement sleeps while others work on the parts.
const WAIT: Duration = Duration::from_millis(10);

/// Records the commands as one mutation of `table`; returns its number.
pub(crate) fn begin(query: &Arc<Execution>, table: &dyn Table, commands: &[AlterAction]) -> Result<u64> {
    let Some(parts) = parts_of(table) else {
        return Err(table.refuses("a mutation"));
    };
    let definition = table.definition();
    // Commands that cannot be planned are refused before they are recorded.
    plan(query, &definition, parts, None, commands)?;
    let text: Vec<String> = commands.iter().map(ToString::to_string).collect();
    let version = parts.begin_mutation(&text.join(", "))?;
    query.instance.background().wake();
    Ok(version)
}

/// Applies the mutation to all parts, or waits until others have. An error if it cannot be applied;
/// it is tried again in the background.
pub(crate) fn wait(
    query: &Arc<Execution>,
    key: &ObjectKey,
    table: &Arc<dyn Table>,
    version: u64,
) -> Result<()> {
    let Some(parts) = parts_of(table.as_ref()) else { return Ok(()) };
    loop {
        query.check()?;
        let mut mutations = parts.mutations();
        mutations.retain(|status| status.version <= version);
        match mutations.last() {
            Some(own) if own.version == version && own.is_done() => return Ok(()),
            Some(own) if own.version == version => {}
            _ => bail!(Unfinished, "mutation '{}' was killed", mutation_id(version)),
        }
        // An older mutation that fails blocks this one.
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
        if !step(&query.instance, key, table.as_ref(), parts) {
            std::thread::sleep(WAIT);
        }
    }
}

/// Applies what waits to one part; `false` if there was nothing to do.
pub(crate) fn step(instance: &Arc<Instance>, key: &ObjectKey, table: &dyn Table, parts: &TableParts) -> bool {
    let Some((part, mut waiting)) = parts.select_mutation() else { return false };
    let definition = table.definition();
    // All together first, so that each part is written once. If that fails, one alone, to find the one that fails.
    for together in [true, false] {
        if !together {
            waiting.truncate(1);
        }
        let Some(&(version, _)) = waiting.last() else { return false };
        let is_last_try = waiting.len() == 1;
        let control = instance.background().control_of_mutation();
        let running = instance.background().enter(key, &[Arc::clone(&part)], Some(version), &control);
        let result = plan_change(instance, &definition, parts, &part, &waiting)
            .and_then(|change| Ok(parts.mutate(&part, version, &change, &control)?));
        drop(running);
        match result {
            Ok(mutated) => return mutated.is_some(),
            Err(_) if control.is_cancelled() => return false,
            // It was planned for columns that an ALTER has changed meanwhile.
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
