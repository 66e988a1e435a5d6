//! Another type for a column: what the keys and the engine allow.

use basalt_base::{Result, SqlType, bail};
use basalt_sql::ast::Expr;

use crate::tables::{ColumnDefinition, TableDefinition, is_same_stored, names_column};

/// Refuses a type that the stored values of the column cannot take.
pub(super) fn check_retype(
    definition: &TableDefinition,
    old: &ColumnDefinition,
    new: &ColumnDefinition,
) -> Result<()> {
    let name = &old.name;
    if old.is_stored() && old.ty.accepts_null() && !new.ty.accepts_null() && new.default.is_none() {
        bail!(
            BadArguments,
            "cannot convert column `{name}` from nullable type {} to non-nullable type {}; specify a DEFAULT \
             expression in ALTER MODIFY COLUMN",
            old.ty,
            new.ty
        );
    }
    match use_of(definition, name)? {
        Use::None => Ok(()),
        Use::Whole if is_same_stored(&old.ty, &new.ty) => Ok(()),
        Use::Whole => bail!(
            AlterOfColumnIsForbidden,
            "ALTER of key column `{name}` from type {} to type {} is not safe because it can change the \
             representation of the key",
            old.ty,
            new.ty
        ),
        Use::Inside => bail!(AlterOfColumnIsForbidden, "ALTER of key column `{name}` is forbidden"),
        Use::Sign => bail!(
            AlterOfColumnIsForbidden,
            "cannot alter the sign column `{name}` to type {}, because it must have type {}",
            new.ty,
            old.ty
        ),
        Use::Version if is_version_type(&new.ty) => Ok(()),
        Use::Version => bail!(
            AlterOfColumnIsForbidden,
            "cannot alter the version column `{name}` to type {}: a version is an integer, a Date or a DateTime",
            new.ty
        ),
    }
}

fn is_version_type(ty: &SqlType) -> bool {
    ty.is_integer() || ty.is_date_or_time()
}

/// Uses of a column by the keys and the engine of the table.
enum Use {
    None,
    /// It is an element of a key.
    Whole,
    /// An element of a key is computed from it.
    Inside,
    Sign,
    Version,
}

fn use_of(definition: &TableDefinition, name: &str) -> Result<Use> {
    let (sort_key, _) = definition.sort_key()?;
    let partition = definition.partition_key();
    let exprs = || {
        let sorted = sort_key.iter().map(|element| &element.expr);
        sorted.chain(&partition).chain(&definition.create.sample_by)
    };
    let is_whole = |expr: &Expr| matches!(expr, Expr::Identifier(parts) if parts.join(".") == name);
    if exprs().any(|expr| !is_whole(expr) && names_column(expr, name)) {
        return Ok(Use::Inside);
    }
    if exprs().any(is_whole) {
        return Ok(Use::Whole);
    }
    let Some(engine) = &definition.create.engine else { return Ok(Use::None) };
    let (sign, version) = match engine.name.as_str() {
        "CollapsingMergeTree" => (engine.args.first(), None),
        "VersionedCollapsingMergeTree" => (engine.args.first(), engine.args.get(1)),
        "ReplacingMergeTree" => (None, engine.args.first()),
        _ => (None, None),
    };
    Ok(match () {
        () if sign.is_some_and(is_whole) => Use::Sign,
        () if version.is_some_and(is_whole) => Use::Version,
        () => Use::None,
    })
}
