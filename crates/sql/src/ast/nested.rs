//! A column of type `Nested` as the columns that a table keeps: one array for each element.

use super::{AlterAction, ColumnDef, ColumnPosition, TableElement, TypeArgument, TypeName};

/// The elements of a CREATE TABLE, with `n Nested(a T, b U)` as `n.a Array(T)` and `n.b Array(U)`.
///
/// A `Nested` inside of another type stays. Codec, comment and DEFAULT go to each column.
pub fn flatten_elements(elements: Vec<TableElement>) -> Vec<TableElement> {
    let flatten = |element| match element {
        TableElement::Column(column) => {
            flatten_column(column).into_iter().map(TableElement::Column).collect()
        }
        other => vec![other],
    };
    elements.into_iter().flat_map(flatten).collect()
}

/// The same for the columns that an ALTER TABLE adds. Their order is that of the elements.
pub fn flatten_actions(actions: &[AlterAction]) -> Vec<AlterAction> {
    actions.iter().flat_map(flatten_action).collect()
}

fn flatten_action(action: &AlterAction) -> Vec<AlterAction> {
    let AlterAction::AddColumn { column, if_not_exists, position } = action else {
        return vec![action.clone()];
    };
    let mut position = position.clone();
    let mut add = |column: ColumnDef| {
        let next = position.as_ref().map(|_| ColumnPosition::After(column.name.clone()));
        let position = std::mem::replace(&mut position, next);
        AlterAction::AddColumn { column, if_not_exists: *if_not_exists, position }
    };
    flatten_column(column.clone()).into_iter().map(&mut add).collect()
}

fn flatten_column(column: ColumnDef) -> Vec<ColumnDef> {
    let Some(TypeName { name, args }) = column.ty.as_ref().filter(|ty| ty.name == "Nested") else {
        return vec![column];
    };
    let element = |arg: &TypeArgument| {
        let TypeArgument::Named(element, ty) = arg else { return None };
        let ty = TypeName { name: "Array".to_owned(), args: vec![TypeArgument::Type(ty.clone())] };
        let name = format!("{}.{element}", column.name);
        Some(ColumnDef { name, ty: Some(ty), ..column.clone() })
    };
    debug_assert_eq!(name, "Nested");
    match args.iter().map(element).collect::<Option<Vec<_>>>() {
        Some(columns) if !columns.is_empty() => columns,
        // The error is reported where types are resolved.
        _ => vec![column],
    }
}

#[cfg(test)]
mod tests {
    use crate::ast::{AlterTable, CreateTable, Statement};
    use crate::parse_statement;

    use super::*;

    #[track_caller]
    fn check_create(columns: &str, expected: &str) {
        let parse = |columns: &str| -> CreateTable {
            let text = format!("CREATE TABLE t ({columns}) ENGINE = Memory");
            let Statement::CreateTable(create) = parse_statement(text.as_bytes()).unwrap() else { panic!() };
            *create
        };
        assert_eq!(flatten_elements(parse(columns).elements), parse(expected).elements);
    }

    #[test]
    fn an_element_of_a_nested_column_is_an_array() {
        check_create(
            "a UInt8, n Nested(x UInt8, y Array(String))",
            "a UInt8, n.x Array(UInt8), n.y Array(Array(String))",
        );
        check_create("n Nested(x UInt8) CODEC(ZSTD)", "n.x Array(UInt8) CODEC(ZSTD)");
        check_create("n Nested(x Nested(y UInt8))", "n.x Array(Nested(y UInt8))");
    }

    #[test]
    fn nested_inside_of_another_type_stays() {
        check_create("n Array(Nested(x UInt8))", "n Array(Nested(x UInt8))");
    }

    #[test]
    fn added_columns_keep_their_place_and_order() {
        let parse = |text: &str| -> AlterTable {
            let Statement::Alter(alter) = parse_statement(text.as_bytes()).unwrap() else { panic!() };
            *alter
        };
        let nested = parse("ALTER TABLE t ADD COLUMN n Nested(x UInt8, y UInt8) FIRST, DROP COLUMN b");
        let flat = parse(
            "ALTER TABLE t ADD COLUMN n.x Array(UInt8) FIRST, ADD COLUMN n.y Array(UInt8) AFTER n.x, DROP COLUMN b",
        );
        assert_eq!(flatten_actions(&nested.actions), flat.actions);
    }
}
