//! Random statements with subqueries and joins by USING.

use super::query::{Query, aggregates, ordered, scope, shared_columns, unordered};
use super::random::Random;
use super::table::Table;

/// A query over a subquery.
pub(crate) fn subquery(tables: &[Table; 2], random: &mut Random) -> Query {
    let mut scope = scope(&tables[0], "", random);
    let (first, second, filter) = (scope.any(2), scope.column(), scope.boolean(1));
    let inner = format!("SELECT id, {first} AS x, {second} AS y FROM t1 WHERE {filter}");
    match scope.random.below(5) {
        0 => ordered(format!("SELECT id, x, y FROM ({inner}) WHERE id % 3 != 1 ORDER BY id")),
        1 => ordered(format!("SELECT count(), count(x), min(id), max(id) FROM ({inner})")),
        2 => unordered(format!("SELECT x, count(), uniqExact(y) FROM ({inner}) GROUP BY x")),
        3 => ordered(format!(
            "WITH q AS ({inner}) SELECT a.id, b.x FROM q AS a JOIN q AS b ON a.id = b.id ORDER BY a.id"
        )),
        _ => ordered(format!(
            "SELECT id, x FROM (SELECT id, x FROM ({inner}) ORDER BY id DESC LIMIT 4) ORDER BY id"
        )),
    }
}

/// A join by the column that both tables share.
pub(crate) fn using(tables: &[Table; 2], random: &mut Random) -> Query {
    let mut scope = scope(&tables[0], "a.", random);
    let kind = *scope.random.pick(&["INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI", "LEFT ANY"]);
    let column = scope.column();
    let nulls = if scope.random.once_in(3) { " SETTINGS join_use_nulls = 1" } else { "" };
    unordered(format!("SELECT id, {column} FROM t1 AS a {kind} JOIN t2 AS b USING (id){nulls}"))
}

/// A scalar subquery.
pub(crate) fn scalar(tables: &[Table; 2], random: &mut Random) -> Query {
    let mut inner = scope(&tables[1], "", random);
    let (list, filter) = (aggregates(&mut inner, 1), inner.boolean(1));
    let value = format!("(SELECT {list} FROM t2 WHERE {filter})");
    let mut outer = scope(&tables[0], "", random);
    let condition = outer.boolean(1);
    match outer.random.below(3) {
        0 => ordered(format!("SELECT id, {value} AS x, toTypeName(x) FROM t1 ORDER BY id")),
        1 => ordered(format!("SELECT id FROM t1 WHERE EXISTS (SELECT 1 FROM t2 WHERE {filter}) ORDER BY id")),
        _ => ordered(format!("SELECT count(), toString({value}) FROM t1 WHERE {condition}")),
    }
}

/// A set of several columns.
pub(crate) fn tuples(tables: &[Table; 2], random: &mut Random) -> Query {
    let Some((left, right)) = shared_columns(tables, random) else { return subquery(tables, random) };
    let not = if random.once_in(3) { "NOT " } else { "" };
    let filter = scope(&tables[1], "", random).boolean(1);
    let set = format!("SELECT {right}, id FROM t2 WHERE {filter}");
    ordered(format!("SELECT id FROM t1 WHERE ({left}, id) {not}IN ({set}) ORDER BY id"))
}
