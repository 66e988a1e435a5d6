//! Names of columns in the clauses of a table: which clauses use a name, and how a RENAME changes them.

use basalt_base::{Result, bail};
use basalt_sql::ast::{AlterAction, CreateTable, Expr, TableElement, TtlAction, TtlElement};

use crate::tables::{TableDefinition, names_column};

/// Gives the column another name wherever a clause uses it. The keys do not: their columns keep their names.
pub(super) fn rename(create: &mut CreateTable, from: &str, to: &str) {
    let other = |name: &str| (name == from).then(|| Expr::Identifier(vec![to.to_owned()]));
    let renamed = |expr: &mut Expr| expr.replace_columns(&other);
    for element in &mut create.elements {
        match element {
            TableElement::Column(column) => {
                if column.name == from {
                    to.clone_into(&mut column.name);
                }
                column.default.iter_mut().filter_map(|(_, expr)| expr.as_mut()).for_each(renamed);
                column.ttl.iter_mut().for_each(renamed);
            }
            TableElement::Index(index) => renamed(&mut index.expr),
            TableElement::ColumnGroup { columns, .. } => {
                columns.iter_mut().filter(|name| *name == from).for_each(|name| to.clone_into(name));
            }
            TableElement::Constraint { expr, .. } => renamed(expr),
            TableElement::Projection { .. } => {}
        }
    }
    create.ttl.iter_mut().for_each(|element| rename_in_ttl(element, from, to, &renamed));
}

fn rename_in_ttl(element: &mut TtlElement, from: &str, to: &str, renamed: &dyn Fn(&mut Expr)) {
    renamed(&mut element.expr);
    match &mut element.action {
        TtlAction::Delete { filter } => filter.iter_mut().for_each(renamed),
        TtlAction::Group { keys, assignments } => {
            keys.iter_mut().for_each(renamed);
            for (name, value) in assignments {
                if name == from {
                    to.clone_into(name);
                }
                renamed(value);
            }
        }
        _ => {}
    }
}

/// Whether a command of a mutation reads or writes the column.
pub(super) fn is_used(command: &AlterAction, name: &str) -> bool {
    match command {
        AlterAction::Update { assignments, filter, .. } => {
            let is_in = |(target, value): &(String, Expr)| target == name || names_column(value, name);
            names_column(filter, name) || assignments.iter().any(is_in)
        }
        AlterAction::Delete { filter, .. } => names_column(filter, name),
        AlterAction::ClearColumn { name: own, .. } | AlterAction::MaterializeColumn { name: own, .. } => {
            own == name
        }
        AlterAction::ModifyColumn { column, .. } => column.name == name,
        _ => false,
    }
}

/// Refuses to rename or drop what the keys, the engine or the sample need; `verb` is RENAME or DROP.
pub(super) fn check_not_needed(definition: &TableDefinition, name: &str, verb: &str) -> Result<()> {
    let is_engine_argument = || {
        let engine = definition.create.engine.as_ref();
        engine.is_some_and(|engine| engine.args.iter().any(|arg| names_column(arg, name)))
    };
    if definition.is_in_key(name)? {
        bail!(
            AlterOfColumnIsForbidden,
            "trying to ALTER {verb} column `{name}`, which is part of a key of table `{}` or decides merges",
            definition.full_name()
        );
    }
    if is_engine_argument() {
        bail!(
            AlterOfColumnIsForbidden,
            "trying to ALTER {verb} column `{name}`, which is an argument of the engine"
        );
    }
    Ok(())
}
