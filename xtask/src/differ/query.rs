//! Random statements over two tables.

use super::expression::Scope;
use super::nested;
use super::random::Random;
use super::table::Table;

pub(crate) struct Query {
    pub(crate) sql: String,
    /// Whether the statement defines the order of its rows.
    pub(crate) is_ordered: bool,
}

/// Aggregates whose result does not depend on the order of rows; `{n}` and the like are replaced.
const AGGREGATES: &[&str] = &[
    "count()",
    "count(X)",
    "countIf(B)",
    "sum(N)",
    "sumIf(N, B)",
    "min(X)",
    "max(X)",
    "avg(N)",
    "uniqExact(X)",
    "arraySort(groupUniqArray(toString(X)))",
    "arraySort(groupArray(toString(X)))",
    "argMin(id, (X, id))",
    "argMax(id, (X, id))",
    "count(DISTINCT X)",
    "minIf(X, B)",
    "maxIf(X, B)",
    "avgIf(N, B)",
    "quantileExact(0.5)(N)",
    "sumOrNull(N)",
    "anyIf(1, B)",
    "groupBitOr(id)",
    "stddevPop(N)",
    "toTypeName(sum(N))",
    "toTypeName(max(X))",
    "varSamp(N)",
    "groupBitAnd(id)",
    "groupBitXor(id)",
    "stddevSamp(N)",
    "varPop(N)",
    "quantileExact(0.9)(id)",
    "minOrNull(X)",
    "maxOrDefault(X)",
    "avgOrNull(N)",
    "sumOrDefault(N)",
    "uniqExactIf(X, B)",
    "countIf(isNull(X))",
    "argMinIf(id, (X, id), B)",
    "sumIf(id, isNotNull(X))",
    "max(N)",
    "min(N)",
    "toTypeName(avg(N))",
    "toTypeName(any(N))",
    "toTypeName(argMax(X, id))",
    "arraySort(groupArrayIf(id, B))",
    "uniqExact(X, X)",
    "sum(if(B, id, 0))",
    "max((X, id))",
    "min(length(toString(X)))",
];
const JOINS: &[&str] = &[
    "INNER",
    "LEFT",
    "RIGHT",
    "FULL",
    "LEFT SEMI",
    "LEFT ANTI",
    "RIGHT SEMI",
    "RIGHT ANTI",
    "LEFT ANY",
    "RIGHT ANY",
    "INNER ANY",
    "CROSS",
];
const WINDOWS: &[&str] = &[
    "row_number()",
    "rank()",
    "dense_rank()",
    "sum(N)",
    "count()",
    "min(X)",
    "max(X)",
    "lagInFrame(X)",
    "leadInFrame(X, 2)",
    "first_value(X)",
    "last_value(X)",
    "ntile(3)",
    "percent_rank()",
    "cume_dist()",
    "nth_value(X, 2)",
    "lag(X)",
    "lead(X, 2)",
    "lagInFrame(X, 2)",
    "count(X)",
    "avg(id)",
    "uniqExact(X)",
    "sumIf(id, B)",
];
const FRAMES: &[&str] = &[
    "",
    " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
    " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    " ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
    " RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING",
    " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
];
const SUFFIXES: &[&str] = &["", " DESC", " NULLS FIRST", " DESC NULLS FIRST", " DESC NULLS LAST"];

/// A statement chosen by `random`.
pub(crate) fn make(tables: &[Table; 2], random: &mut Random) -> Query {
    match random.below(20) {
        0 => constants(random),
        1 | 2 => projection(tables, random),
        3 | 4 => filter(tables, random),
        5 | 6 => group(tables, random),
        7 => aggregate(tables, random),
        8 | 9 => join(tables, random),
        10 => set(tables, random),
        11 => distinct(tables, random),
        12 => window(tables, random),
        13 => array_join(tables, random),
        14 => sorted(tables, random),
        15 => nested::subquery(tables, random),
        16 => nested::using(tables, random),
        17 => nested::scalar(tables, random),
        18 => nested::tuples(tables, random),
        _ => union(tables, random),
    }
}

pub(super) fn scope<'a>(table: &Table, alias: &str, random: &'a mut Random) -> Scope<'a> {
    let columns = table.columns.iter().map(|column| (column.kind.family, format!("{alias}{}", column.name)));
    Scope { columns: columns.collect(), random }
}

fn constants(random: &mut Random) -> Query {
    let mut scope = Scope { columns: Vec::new(), random };
    let expression = scope.any(3);
    ordered(format!("SELECT {expression} AS x, toTypeName(x)"))
}

fn projection(tables: &[Table; 2], random: &mut Random) -> Query {
    let mut scope = scope(&tables[0], "", random);
    let (first, second) = (scope.any(3), scope.any(2));
    ordered(format!("SELECT id, {first} AS x, {second} AS y, toTypeName(x) FROM t1 ORDER BY id"))
}

fn filter(tables: &[Table; 2], random: &mut Random) -> Query {
    let mut scope = scope(&tables[0], "", random);
    let clause = *scope.random.pick(&["WHERE", "WHERE", "PREWHERE"]);
    let clause = if tables[0].is_merge_tree() { clause } else { "WHERE" };
    let condition = scope.boolean(2);
    ordered(format!("SELECT id FROM t1 {clause} {condition} ORDER BY id"))
}

pub(super) fn aggregates(scope: &mut Scope<'_>, count: usize) -> String {
    let mut list = Vec::new();
    for _ in 0..count {
        let template = *scope.random.pick(AGGREGATES);
        list.push(fill(template, scope));
    }
    list.join(", ")
}

/// Replaces the letters X (any), N (a number) and B (a condition) by expressions.
fn fill(template: &str, scope: &mut Scope<'_>) -> String {
    let mut text = String::new();
    let bytes = template.as_bytes();
    for (at, letter) in template.char_indices() {
        let alone = |index: Option<usize>| {
            index.and_then(|index| bytes.get(index)).is_none_or(|c| !c.is_ascii_alphanumeric())
        };
        let is_place = alone(at.checked_sub(1)) && alone(Some(at + 1));
        match letter {
            'X' if is_place => text.push_str(&scope.column()),
            'N' if is_place => text.push_str(&scope.number(1)),
            'B' if is_place => text.push_str(&scope.boolean(1)),
            _ => text.push(letter),
        }
    }
    text
}

fn group(tables: &[Table; 2], random: &mut Random) -> Query {
    let mut scope = scope(&tables[0], "", random);
    let key = if scope.random.once_in(2) { scope.column() } else { scope.any(2) };
    let list = aggregates(&mut scope, 2);
    let having = if scope.random.once_in(4) { " HAVING count() > 1" } else { "" };
    let with = *scope.random.pick(&["", "", "", " WITH TOTALS", " WITH ROLLUP"]);
    if scope.random.once_in(4) {
        let (other, by) =
            (scope.column(), *scope.random.pick(&["k, l", "CUBE(k, l)", "GROUPING SETS ((k), (k, l), ())"]));
        return unordered(format!("SELECT {key} AS k, {other} AS l, {list} FROM t1 GROUP BY {by}{having}"));
    }
    unordered(format!("SELECT {key} AS k, {list} FROM t1 GROUP BY k{with}{having}"))
}

fn aggregate(tables: &[Table; 2], random: &mut Random) -> Query {
    let mut scope = scope(&tables[0], "", random);
    let list = aggregates(&mut scope, 3);
    let condition = scope.boolean(2);
    ordered(format!("SELECT {list} FROM t1 WHERE {condition}"))
}

fn join(tables: &[Table; 2], random: &mut Random) -> Query {
    let Some((left, right)) = shared_columns(tables, random) else { return filter(tables, random) };
    let mut scope = scope(&tables[0], "a.", random);
    scope
        .columns
        .extend(tables[1].columns.iter().map(|column| (column.kind.family, format!("b.{}", column.name))));
    let kind = *scope.random.pick(JOINS);
    let expression = scope.any(1);
    let nulls = if scope.random.once_in(3) { " SETTINGS join_use_nulls = 1" } else { "" };
    if kind == "CROSS" {
        return unordered(format!("SELECT a.id, b.id, {expression} FROM t1 AS a CROSS JOIN t2 AS b{nulls}"));
    }
    let more = match kind {
        "INNER" | "LEFT" if scope.random.once_in(3) => " AND a.id < b.id + 2",
        "INNER" | "LEFT" | "RIGHT" | "FULL" if scope.random.once_in(3) => " AND a.id = b.id",
        _ => "",
    };
    let (list, expression) = match kind {
        "LEFT SEMI" | "LEFT ANTI" => ("a.id, 0", "1".to_owned()),
        "RIGHT SEMI" | "RIGHT ANTI" => ("0, b.id", "1".to_owned()),
        "RIGHT ANY" => ("0, b.id", "1".to_owned()),
        "LEFT ANY" | "INNER ANY" => ("a.id, 0", "1".to_owned()),
        _ => ("a.id, b.id", expression),
    };
    unordered(format!(
        "SELECT {list}, {expression} FROM t1 AS a {kind} JOIN t2 AS b ON a.{left} = b.{right}{more}{nulls}"
    ))
}

/// A column of each table, with the same type except for Nullable.
pub(super) fn shared_columns(tables: &[Table; 2], random: &mut Random) -> Option<(String, String)> {
    let mut pairs = vec![("id".to_owned(), "id".to_owned())];
    for left in &tables[0].columns {
        let same = tables[1]
            .columns
            .iter()
            .filter(|right| right.kind.name == left.kind.name && left.kind.may_be_null());
        pairs.extend(same.map(|right| (left.name.clone(), right.name.clone())));
    }
    (!pairs.is_empty()).then(|| random.pick(&pairs).clone())
}

fn set(tables: &[Table; 2], random: &mut Random) -> Query {
    let Some((left, right)) = shared_columns(tables, random) else { return filter(tables, random) };
    let mut inner = scope(&tables[1], "", random);
    let condition = inner.boolean(1);
    let not = if inner.random.once_in(3) { "NOT " } else { "" };
    ordered(format!(
        "SELECT id FROM t1 WHERE {left} {not}IN (SELECT {right} FROM t2 WHERE {condition}) ORDER BY id"
    ))
}

fn distinct(tables: &[Table; 2], random: &mut Random) -> Query {
    let mut scope = scope(&tables[0], "", random);
    let (first, second) = (scope.column(), scope.any(1));
    unordered(format!("SELECT DISTINCT {first}, {second} FROM t1"))
}

fn window(tables: &[Table; 2], random: &mut Random) -> Query {
    let mut scope = scope(&tables[0], "", random);
    let function = *scope.random.pick(WINDOWS);
    let function = fill(function, &mut scope);
    let partition = scope.column();
    let is_fixed = |name: &str| function.starts_with(name);
    let takes_frame = !["ntile", "lag(", "lead(", "percent_rank", "cume_dist"].into_iter().any(is_fixed);
    let frame = if takes_frame { *scope.random.pick(FRAMES) } else { "" };
    let partition = match scope.random.once_in(3) {
        true => String::new(),
        false => format!("PARTITION BY {partition} "),
    };
    ordered(format!("SELECT id, {function} OVER ({partition}ORDER BY id{frame}) FROM t1 ORDER BY id"))
}

fn array_join(tables: &[Table; 2], random: &mut Random) -> Query {
    let arrays = [super::kind::Family::Integers, super::kind::Family::Texts];
    let columns: Vec<String> =
        arrays.iter().flat_map(|family| tables[0].columns_of(*family)).map(str::to_owned).collect();
    let array = if columns.is_empty() { "range(id % 3)".to_owned() } else { random.pick(&columns).clone() };
    let left = if random.once_in(2) { "LEFT " } else { "" };
    let mut scope = scope(&tables[0], "", random);
    let expression = scope.any(1);
    unordered(format!("SELECT id, x, {expression} FROM t1 {left}ARRAY JOIN {array} AS x"))
}

fn sorted(tables: &[Table; 2], random: &mut Random) -> Query {
    let mut scope = scope(&tables[0], "", random);
    let (key, suffix) = (scope.column(), *scope.random.pick(SUFFIXES));
    let limit = *scope.random.pick(&["", " LIMIT 3", " LIMIT 2, 3", " LIMIT 1 BY k", " LIMIT 3 WITH TIES"]);
    ordered(format!("SELECT id, {key} AS k FROM t1 ORDER BY k{suffix}, id{limit}"))
}

fn union(tables: &[Table; 2], random: &mut Random) -> Query {
    let Some((left, right)) = shared_columns(tables, random) else { return filter(tables, random) };
    let operation = *random.pick(&[
        "UNION ALL",
        "UNION DISTINCT",
        "INTERSECT",
        "EXCEPT",
        "INTERSECT DISTINCT",
        "EXCEPT DISTINCT",
    ]);
    let condition = scope(&tables[0], "", random).boolean(1);
    unordered(format!(
        "SELECT x, toTypeName(x) FROM (SELECT {left} AS x FROM t1 WHERE {condition} {operation} SELECT {right} FROM t2)"
    ))
}

pub(super) fn ordered(sql: String) -> Query {
    Query { sql, is_ordered: true }
}

pub(super) fn unordered(sql: String) -> Query {
    Query { sql, is_ordered: false }
}
