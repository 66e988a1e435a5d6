//! `system.warnings`: conditions that need attention, for as long as they last.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use super::block::BlockBuilder;
use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::tables::parts_of;

pub(super) fn columns() -> Columns {
    block::columns([
        ("message", SqlType::String),
        ("message_format_string", SqlType::LowCardinality(SqlType::String.into())),
    ])
}

struct Warning {
    message: String,
    /// The same with `{}` where it names things.
    form: &'static str,
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let warnings = warnings(query)?;
    let mut block = BlockBuilder::default();
    block
        .strings(warnings.iter().map(|warning| &warning.message))
        .strings(warnings.iter().map(|warning| warning.form));
    block.finish(&columns())
}

fn warnings(query: &Execution) -> Result<Vec<Warning>> {
    let catalog = query.instance.catalog();
    let mut warnings = Vec::new();
    if let Some(doubt) = catalog.doubt() {
        let message = format!("Names of tables may not be all known: {doubt}");
        warnings.push(Warning { message, form: "Names of tables may not be all known: {}" });
    }
    for (database, name, object) in query.visible_objects() {
        match object {
            CatalogObject::Broken(broken) => {
                let message = broken.error.message().to_owned();
                warnings.push(Warning { message, form: "{}: `{}.{}` could not be opened" });
            }
            CatalogObject::Table(table) => {
                let Some(parts) = parts_of(table.as_ref()) else { continue };
                let damaged = parts.detached_stats()?.iter().filter(|part| !part.reason.is_empty()).count();
                if damaged > 0 {
                    let message = format!(
                        "Table {database}.{name} has {damaged} damaged parts in `detached`, whose rows are missing; \
                         see system.detached_parts"
                    );
                    let form = "Table {}.{} has {} damaged parts in `detached`, whose rows are missing; see system.detached_parts";
                    warnings.push(Warning { message, form });
                }
            }
            _ => {}
        }
    }
    for error in query.instance.named_collections().damaged() {
        let message = error.message().to_owned();
        warnings.push(Warning { message, form: "{}: named collection `{}` cannot be read" });
    }
    Ok(warnings)
}
