//! CREATE DICTIONARY: functions in its source get their values, and the catalog gets the dictionary.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use basalt_base::{Result, bail};
use basalt_planner::plan_constant;
use basalt_sql::ast::{self, Expr, FunctionCall, KeyValueArgument, Literal, ObjectKind};
use uuid::Uuid;

use super::resolve::is_free;
use crate::catalog::CatalogObject;
use crate::dictionaries::DictionaryEntry;
use crate::execution::Execution;
use crate::planning::PlanningContext;

/// Adds the dictionary to the catalog. It is loaded when a query first needs it, or now if the server loads eagerly.
pub(super) fn create_dictionary(query: &Arc<Execution>, mut create: ast::CreateDictionary) -> Result<()> {
    let key = query.key_of_new(&create.name);
    let catalog = query.instance.catalog();
    let _ddl = catalog.ddl();
    if !is_free(query, &key, ObjectKind::Dictionary, create.if_not_exists, create.or_replace)? {
        return Ok(());
    }
    if let Some(source) = &mut create.source {
        let name = source.name.clone();
        evaluate_calls(query, &mut source.args)
            .map_err(|error| error.within(format!("dictionary source {name}")))?;
    }
    let entry = DictionaryEntry::new(
        &key.database,
        &key.name,
        Uuid::new_v4(),
        create,
        query.instance.named_collections(),
    )?;
    let entry = Arc::new(entry);
    catalog.put(&key.database, &key.name, CatalogObject::Dictionary(Arc::clone(&entry)))?;
    if query.instance.loads_eagerly {
        entry.load_in_background(&query.load_host());
    }
    Ok(())
}

/// Replaces each call by its value in this query: `DB currentDatabase()` becomes the current database of this session,
/// whichever session uses the dictionary later.
fn evaluate_calls(query: &Arc<Execution>, args: &mut [(String, KeyValueArgument)]) -> Result<()> {
    for (_, value) in args {
        match value {
            KeyValueArgument::Nested(args) => evaluate_calls(query, args)?,
            KeyValueArgument::Call(call) => {
                *value = KeyValueArgument::Literal(evaluate(query, call)?);
            }
            KeyValueArgument::Literal(_) | KeyValueArgument::Ident(_) => {}
        }
    }
    Ok(())
}

/// The value of the call: a number if it is a non-negative integer, else a string.
fn evaluate(query: &Arc<Execution>, call: &FunctionCall) -> Result<Literal> {
    let planning = PlanningContext::new(query, HashMap::new());
    let plan = |expr: Expr| plan_constant(&expr, &planning.context());
    let call = Expr::Function(call.clone());
    let ty = plan(call.clone())?.1;
    let (text, _) = plan(Expr::Function(FunctionCall::plain("toString", vec![call.clone()])))?;
    let Some(bytes) = text.as_binary_view_opt().filter(|text| text.is_valid(0)).map(|text| text.value(0))
    else {
        bail!(BadArguments, "`{call}` is NULL, but a parameter of a source needs a value");
    };
    let number = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
    Ok(match number.filter(|_| ty.stripped().is_integer()) {
        Some(number) => Literal::UInt(number),
        None => Literal::String(bytes.to_vec()),
    })
}
