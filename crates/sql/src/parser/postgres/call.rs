//! Calls whose names mean another function, or another form of it, in ClickHouse's dialect.

use crate::ast::{Expr, FunctionCall, Lambda, Literal, OrderBy, SelectItem};
use crate::parser::cursor::{Cursor, Parsed};

use super::format::formatted;
use super::table_function::series;
use super::time::MICROSECONDS;
use super::type_name::call;

/// Names in lower case and the functions that they mean.
const RENAMED: &[(&str, &str)] = &[
    ("bool_and", "min"),
    ("every", "min"),
    ("bool_or", "max"),
    ("array_cat", "arrayConcat"),
    ("array_append", "arrayPushBack"),
    ("cardinality", "length"),
    ("char_length", "lengthUTF8"),
    ("character_length", "lengthUTF8"),
    ("octet_length", "length"),
    ("current_catalog", "currentDatabase"),
    ("current_schema", "currentDatabase"),
    ("session_user", "currentUser"),
    ("gen_random_uuid", "generateUUIDv4"),
    ("random", "randCanonical"),
    ("clock_timestamp", "now"),
    ("statement_timestamp", "now"),
    ("transaction_timestamp", "now"),
];

impl Cursor<'_> {
    /// The expression that a parsed call means.
    pub(in crate::parser) fn meaning_of_call(&mut self, written: FunctionCall) -> Expr {
        if !self.is_postgres() {
            return Expr::Function(written);
        }
        let order = self.take_order();
        let lower = written.name.to_ascii_lowercase();
        let mut written = written;
        if let Some((_, function)) = RENAMED.iter().find(|(name, _)| *name == lower) {
            (*function).clone_into(&mut written.name);
            return Expr::Function(written);
        }
        match (lower.as_str(), written.args.len()) {
            ("unnest", 1) => {
                written.name = "arrayJoin".to_owned();
                Expr::Function(written)
            }
            // The set of subscripts of an array in a SELECT list.
            ("generate_subscripts", 2) => {
                let array = written.args.swap_remove(0);
                call("arrayJoin", vec![call("arrayEnumerate", vec![array])])
            }
            ("generate_series", 2 | 3) => series(written.args),
            ("split_part", 3) => {
                let (index, separator) = (written.args.pop(), written.args.pop());
                let parts = call("splitByString", separator.into_iter().chain(written.args).collect());
                call("arrayElement", [parts].into_iter().chain(index).collect())
            }
            // The keys of an index with their positions: `(x, n)`.
            ("_pg_expandarray", 1) => {
                let array = written.args.swap_remove(0);
                let numbered = call("arrayZip", vec![array.clone(), call("arrayEnumerate", vec![array])]);
                let ty = "Array(Tuple(x Int16, n UInt32))";
                let named = call("CAST", vec![numbered, Expr::Literal(Literal::String(ty.into()))]);
                call("arrayJoin", vec![named])
            }
            // The words of this grammar are no list.
            ("pg_get_keywords", 0) => {
                let ty = Expr::Literal(Literal::String(b"Array(String)".to_vec()));
                call("arrayJoin", vec![call("CAST", vec![Expr::Array(Vec::new()), ty])])
            }
            ("pg_postmaster_start_time", 0) => {
                call("subtractSeconds", vec![call("now", Vec::new()), call("uptime", Vec::new())])
            }
            ("to_timestamp", 1) => {
                let count = Expr::Binary {
                    op: crate::ast::BinaryOp::Multiply,
                    left: Box::new(written.args.swap_remove(0)),
                    right: Box::new(Expr::Literal(Literal::UInt(MICROSECONDS))),
                };
                let zone = Expr::Literal(Literal::String(b"UTC".to_vec()));
                call("fromUnixTimestamp64Micro", vec![call("toInt64", vec![count]), zone])
            }
            ("format", _) => formatted(written),
            ("timezone", 2) => {
                written.args.reverse();
                call("toTimeZone", written.args)
            }
            ("array_agg", 1) => gathered(written, order),
            ("string_agg", 2) => {
                let separator = written.args.pop();
                call("array_to_string", [gathered(written, order)].into_iter().chain(separator).collect())
            }
            _ => Expr::Function(written),
        }
    }
}

impl Cursor<'_> {
    /// ORDER BY after the last argument of an aggregate.
    pub(in crate::parser) fn parse_order_of_args(&mut self) -> Parsed<()> {
        if self.is_postgres() && self.eat("ORDER BY") {
            let order = self.parse_list(Cursor::parse_order_item)?;
            self.keep_order(order);
        }
        Ok(())
    }

    /// The ORDER BY that was read last.
    pub(in crate::parser) fn take_order(&mut self) -> Vec<OrderBy> {
        self.postgres.as_mut().map(|state| std::mem::take(&mut state.order)).unwrap_or_default()
    }

    pub(in crate::parser) fn keep_order(&mut self, order: Vec<OrderBy>) {
        if let Some(state) = &mut self.postgres {
            state.order = order;
        }
    }
}

/// The argument of an aggregate as an array, sorted by `order`.
fn gathered(aggregate: FunctionCall, order: Vec<OrderBy>) -> Expr {
    let mut aggregate = FunctionCall { name: "groupArray".to_owned(), ..aggregate };
    if order.is_empty() {
        return Expr::Function(aggregate);
    }
    let sort = if order.iter().all(|key| key.descending) { "arrayReverseSort" } else { "arraySort" };
    let row = "row".to_owned();
    let part = |index: usize| Expr::TupleElement {
        tuple: Box::new(Expr::Identifier(vec![row.clone()])),
        index: index as u64,
    };
    let each = |body: Expr| Expr::Lambda(Lambda { params: vec![row.clone()], body: Box::new(body) });
    let keys: Vec<Expr> = (0..order.len()).map(|index| part(index + 2)).collect();
    let value = aggregate.args.pop().unwrap_or(Expr::Literal(Literal::Null));
    aggregate.args =
        vec![Expr::Tuple([value].into_iter().chain(order.into_iter().map(|key| key.expr)).collect())];
    let sorted = call(sort, vec![each(Expr::Tuple(keys)), Expr::Function(aggregate)]);
    call("arrayMap", vec![each(part(1)), sorted])
}

/// Columns of rows that grow by several sets at once: row after row of all of them, not every combination.
pub(in crate::parser) fn zip_sets(items: &mut [SelectItem]) {
    let set_of = |expr: &Expr| match expr {
        Expr::Function(set) if set.name == "arrayJoin" => set.args.first().cloned(),
        _ => None,
    };
    let arrays: Vec<Expr> = items.iter().filter_map(|item| set_of(&item.expr)).collect();
    if arrays.len() < 2 {
        return;
    }
    let rows = call("arrayJoin", vec![call("arrayZip", arrays)]);
    let sets = items.iter_mut().filter(|item| set_of(&item.expr).is_some());
    for (index, item) in sets.enumerate() {
        item.expr = Expr::TupleElement { tuple: Box::new(rows.clone()), index: index as u64 + 1 };
    }
}
