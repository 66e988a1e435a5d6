//! Queries over small tables: planned and run, with their rows compared as text.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, Float64Array, Int32Array, ListArray, UInt8Array, UInt16Array,
    UInt32Array, UInt64Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use basalt_base::zone::Zone;
use basalt_base::{Column, Error, ErrorCode, Result, SqlType};
use basalt_dict::{Dictionaries, Dictionary};
use basalt_exec::session::{Rules, SessionLimits, session_state};
use basalt_functions::{FunctionContext, ServerContext};
use basalt_sql::ast;
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::collect;

use super::*;

mod correlated;
mod rules;

struct NoDictionaries;

impl Dictionaries for NoDictionaries {
    fn dictionary(&self, name: &str, _current_database: &str) -> Result<Arc<dyn Dictionary>> {
        Err(Error::new(ErrorCode::BadArguments, format!("no dictionary `{name}`")))
    }
}

struct Tables;

impl Tables {
    fn columns(name: &str) -> Option<Vec<(Column, ArrayRef)>> {
        let strings = |values: Vec<&str>| -> ArrayRef { Arc::new(BinaryViewArray::from_iter_values(values)) };
        let column = |name: &str, ty: SqlType, array: ArrayRef| (Column::new(name, ty), array);
        Some(match name {
            "hits" => vec![
                column("id", SqlType::UInt64, Arc::new(UInt64Array::from(vec![1, 2, 3, 4]))),
                column("user", SqlType::UInt32, Arc::new(UInt32Array::from(vec![10, 20, 10, 30]))),
                column("url", SqlType::String, strings(vec!["a", "b", "c", "b"])),
                column("day", SqlType::Date, Arc::new(UInt16Array::from(vec![0, 1, 1, 2]))),
                column("flag", SqlType::UInt8, Arc::new(UInt8Array::from(vec![0, 1, 1, 0]))),
            ],
            "users" => vec![
                column("user", SqlType::UInt64, Arc::new(UInt64Array::from(vec![10, 20, 20, 40]))),
                column("name", SqlType::String, strings(vec!["ann", "bob", "bo", "dan"])),
            ],
            "maybe" => vec![
                column(
                    "x",
                    SqlType::Int32.into_nullable(),
                    Arc::new(Int32Array::from(vec![Some(1), None, Some(-3)])),
                ),
                column("f", SqlType::Float64, Arc::new(Float64Array::from(vec![f64::NAN, 2.0, 1.0]))),
            ],
            "lists" => vec![
                column("id", SqlType::UInt8, Arc::new(UInt8Array::from(vec![1, 2, 3]))),
                column("items", SqlType::array_of(SqlType::UInt64), {
                    let values = Arc::new(UInt64Array::from(vec![7, 8, 9]));
                    let offsets = OffsetBuffer::from_lengths([2, 0, 1]);
                    Arc::new(ListArray::new(SqlType::UInt64.element_field(), offsets, values, None))
                }),
            ],
            _ => return None,
        })
    }
}

impl Catalog for Tables {
    fn table(&self, name: &ast::ObjectName, _options: &TableOptions) -> Result<ResolvedTable> {
        let Some(columns) = Tables::columns(&name.name) else {
            return Err(Error::new(ErrorCode::UnknownTable, format!("table `{name}` does not exist")));
        };
        let (columns, arrays): (Vec<Column>, Vec<ArrayRef>) = columns.into_iter().unzip();
        let schema = Columns::new(columns.clone()).to_arrow();
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap();
        let table = MemTable::try_new(schema, vec![vec![batch]]).unwrap();
        let columns = columns
            .into_iter()
            .map(|column| TableColumn { column, in_asterisk: true, value: None })
            .collect();
        Ok(ResolvedTable::Source {
            columns,
            source: provider_as_source(Arc::new(table)),
            filter: None,
            row_filter: None,
            has_prewhere: true,
        })
    }

    fn table_function(
        &self,
        call: &ast::FunctionCall,
        _planner: &PlannerContext<'_>,
    ) -> Result<ResolvedTable> {
        Err(Error::not_implemented(&call.name))
    }
}

struct Runner;

impl SubqueryRunner for Runner {
    fn run(&self, plan: LogicalPlan) -> Result<Vec<RecordBatch>> {
        std::thread::scope(|scope| scope.spawn(|| run_plan(&plan)).join().unwrap())
    }
}

fn run_plan(plan: &LogicalPlan) -> Result<Vec<RecordBatch>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let limits = SessionLimits { target_partitions: 2, batch_rows: 8192 };
    let state = session_state(limits, Arc::new(RuntimeEnv::default()), Rules::default()).expect("a session");
    runtime
        .block_on(async {
            let physical = state.create_physical_plan(plan).await?;
            collect(physical, state.task_ctx()).await
        })
        .map_err(basalt_exec::error::from_datafusion)
}

fn functions() -> FunctionContext {
    FunctionContext {
        zone: Zone::utc(),
        now_us: 1_000_000,
        current_database: "default".into(),
        current_user: "default".into(),
        roles: basalt_functions::UserRoles::default(),
        query_id: "q".into(),
        server: ServerContext::default(),
        dictionaries: Arc::new(NoDictionaries),
        relations: Arc::new(basalt_functions::NoRelations),
        settings: Arc::new(basalt_functions::NoSettings),
    }
}

fn with_context<T>(act: impl FnOnce(&PlannerContext<'_>) -> T) -> T {
    let settings = PlanSettings {
        max_subquery_depth: 60,
        empty_result_for_aggregation_by_constant_keys_on_empty_set: true,
        ..PlanSettings::default()
    };
    let parameters = HashMap::from([("limit".to_owned(), "2".to_owned())]);
    let functions = functions();
    act(&PlannerContext {
        catalog: &Tables,
        runner: &Runner,
        functions: &functions,
        settings: &settings,
        parameters: &parameters,
        postgres: None,
    })
}

fn plan(sql: &str) -> Result<Planned> {
    let statement = basalt_sql::parse_statement(sql.as_bytes())?;
    let ast::Statement::Query(query) = statement else {
        panic!("`{sql}` is a query");
    };
    with_context(|ctx| plan_query(&query, ctx))
}

fn text_of(array: &ArrayRef, row: usize) -> String {
    if array.logical_nulls().is_some_and(|nulls| nulls.is_null(row)) {
        return "NULL".to_owned();
    }
    match array.data_type() {
        DataType::BinaryView => String::from_utf8_lossy(array.as_binary_view().value(row)).into_owned(),
        _ => arrow::util::display::array_value_to_string(array, row).unwrap(),
    }
}

/// Rows as `a,b;c,d`.
fn rows_of(plan: &LogicalPlan, columns: &Columns) -> Result<String> {
    let mut text = String::new();
    for batch in run_plan(plan)? {
        for (column, array) in columns.iter().zip(batch.columns()) {
            assert_eq!(&column.ty.carrier(), array.data_type(), "carrier of `{}`", column.name);
        }
        for row in 0..batch.num_rows() {
            let cells: Vec<String> = batch.columns().iter().map(|array| text_of(array, row)).collect();
            let separator = if text.is_empty() { "" } else { ";" };
            write!(text, "{separator}{}", cells.join(",")).unwrap();
        }
    }
    Ok(text)
}

fn run(sql: &str) -> Result<String> {
    let planned = plan(sql)?;
    rows_of(&planned.plan, &planned.columns)
}

fn check(sql: &str, expected: &str) {
    match run(sql) {
        Ok(rows) => assert_eq!(rows, expected, "{sql}"),
        Err(error) => panic!("{sql}: {error}"),
    }
}

fn check_error(sql: &str, code: ErrorCode) {
    match run(sql) {
        Ok(rows) => panic!("{sql} answered {rows}"),
        Err(error) => assert_eq!(error.code(), code, "{sql}: {error}"),
    }
}

fn check_names(sql: &str, expected: &[&str]) {
    let planned = plan(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let names: Vec<&str> = planned.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, expected, "{sql}");
}

#[test]
fn selects_filters_and_sorts() {
    check("SELECT id, url FROM hits WHERE user = 10 ORDER BY id DESC", "3,c;1,a");
    check("SELECT * FROM hits WHERE url = 'b' AND flag LIMIT 1", "2,20,b,1,1");
    check("SELECT id FROM hits ORDER BY url DESC, id LIMIT 2 OFFSET 1", "2;4");
    check("SELECT id AS k FROM hits WHERE k > 2 ORDER BY k", "3;4");
    check("SELECT 1, 'x', NULL", "1,x,NULL");
    check("SELECT DISTINCT url FROM hits ORDER BY 1", "a;b;c");
    check("SELECT * EXCEPT (id, url, day, flag) FROM hits ORDER BY user LIMIT 1", "10");
}

#[test]
fn literals_take_the_column_type() {
    check("SELECT id FROM hits WHERE id = -1", "");
    check("SELECT id FROM hits WHERE id != -1 AND id < 1.5", "1");
    check("SELECT id FROM hits WHERE flag < 256 AND id <= 1", "1");
    check("SELECT x IS NULL, x = 5000000000 FROM maybe ORDER BY x", "0,0;0,0;1,NULL");
    check("SELECT id = 2, NOT flag FROM hits ORDER BY id LIMIT 2", "0,1;1,0");
}

#[test]
fn null_and_nan_come_last() {
    check("SELECT x FROM maybe ORDER BY x", "-3;1;NULL");
    check("SELECT x FROM maybe ORDER BY x DESC", "1;-3;NULL");
    check("SELECT x FROM maybe ORDER BY x NULLS FIRST", "NULL;-3;1");
    check("SELECT f FROM maybe ORDER BY f DESC", "2.0;1.0;NaN");
    check("SELECT f FROM maybe ORDER BY f", "1.0;2.0;NaN");
}

#[test]
fn in_takes_lists_subqueries_and_tuples() {
    check("SELECT id FROM hits WHERE id IN (1, 3, -5, NULL) ORDER BY id", "1;3");
    check("SELECT id FROM hits WHERE url NOT IN ('a', 'c') ORDER BY id", "2;4");
    check("SELECT id FROM hits WHERE user IN (SELECT user FROM users) ORDER BY id", "1;2;3");
    check_error("SELECT id FROM hits WHERE user GLOBAL IN users", ErrorCode::NumberOfColumnsDoesntMatch);
    check("SELECT id FROM hits WHERE (id, url) IN ((1, 'a'), (2, 'c')) ORDER BY id", "1");
    check("SELECT x IN (1), x NOT IN (1) FROM maybe ORDER BY x", "0,1;1,0;NULL,NULL");
}

#[test]
fn scalar_subqueries_are_answered_while_planning() {
    check("SELECT id FROM hits WHERE id = (SELECT id FROM hits WHERE url = 'c')", "3");
    check("SELECT (SELECT id FROM hits WHERE id = 9)", "NULL");
    check("SELECT EXISTS (SELECT 1 FROM hits WHERE id = 9)", "0");
    check_error("SELECT (SELECT id FROM hits)", ErrorCode::ScalarSubqueryTooManyRows);
}

#[test]
fn joins_fill_unmatched_rows_with_defaults() {
    let from = "FROM hits AS h";
    check(
        &format!("SELECT h.id, name {from} JOIN users AS u ON h.user = u.user ORDER BY 1, 2"),
        "1,ann;2,bo;2,bob;3,ann",
    );
    check(
        &format!("SELECT id, u.user, name {from} LEFT JOIN users u ON h.user = u.user WHERE id = 4"),
        "4,0,",
    );
    check(
        &format!("SELECT id, user, name {from} RIGHT JOIN users u USING (user) WHERE name = 'dan'"),
        "0,40,dan",
    );
    check(
        &format!("SELECT id, name {from} LEFT ANY JOIN users u USING (user) ORDER BY id"),
        "1,ann;2,bob;3,ann;4,",
    );
    check(&format!("SELECT id {from} LEFT SEMI JOIN users u USING (user) ORDER BY id"), "1;2;3");
    check(&format!("SELECT id {from} LEFT ANTI JOIN users u USING (user)"), "4");
    check(&format!("SELECT id, name {from}, users u WHERE h.user = u.user AND name = 'bo'"), "2,bo");
    check(&format!("SELECT id {from} JOIN users u ON h.user = u.user WHERE user = 0"), "");
}

#[test]
fn array_join_makes_a_row_for_each_element() {
    check("SELECT id, items FROM lists ARRAY JOIN items ORDER BY items", "1,7;1,8;3,9");
    check("SELECT id, x FROM lists ARRAY JOIN items AS x WHERE x > 7 ORDER BY x", "1,8;3,9");
    check("SELECT id, x FROM lists LEFT ARRAY JOIN items AS x ORDER BY id, x", "1,7;1,8;2,0;3,9");
    check("SELECT id, arrayJoin(items) AS x FROM lists ORDER BY x DESC", "3,9;1,8;1,7");
}

#[test]
fn limit_by_and_distinct_on_keep_first_rows() {
    check("SELECT url, id FROM hits ORDER BY id LIMIT 1 BY url", "a,1;b,2;c,3");
    check("SELECT DISTINCT ON (user) user, id FROM hits ORDER BY id DESC", "30,4;10,3;20,2");
    check_error("SELECT id FROM hits LIMIT -1", ErrorCode::InvalidLimitExpression);
    check("SELECT id FROM hits ORDER BY id LIMIT {limit:UInt8}", "1;2");
}

#[test]
fn set_operations_meet_in_common_types() {
    check("SELECT x FROM (SELECT 1 AS x UNION ALL SELECT 300) ORDER BY x", "1;300");
    check("SELECT id FROM hits INTERSECT SELECT 3", "3");
    check("SELECT url FROM (SELECT url FROM hits EXCEPT SELECT 'b') ORDER BY url", "a;b;c");
    check("SELECT count(), sum(x) FROM (SELECT 1 AS x UNION DISTINCT SELECT 1)", "1,1");
    check_error("SELECT 1 UNION ALL SELECT 1, 2", ErrorCode::UnionResultStructuresMismatch);
}

#[test]
fn with_names_queries_and_expressions() {
    check("WITH 2 AS two SELECT id FROM hits WHERE id = two", "2");
    check("WITH few AS (SELECT id FROM hits WHERE id < 3) SELECT id FROM few ORDER BY id", "1;2");
    check("SELECT x FROM (SELECT id AS x FROM hits) WHERE x = (SELECT 1)", "1");
}

#[test]
fn conditionals_are_lazy_and_typed() {
    check("SELECT if(flag, 'y', 'n') FROM hits ORDER BY id", "n;y;y;n");
    check("SELECT CASE url WHEN 'a' THEN 1 WHEN 'b' THEN 300 END FROM hits ORDER BY id", "1;300;NULL;300");
    check("SELECT id > 2 ? 1 : -1 FROM hits ORDER BY id LIMIT 3", "-1;-1;1");
}

#[test]
fn groups_and_totals() {
    check("SELECT url, count() FROM hits GROUP BY url ORDER BY url", "a,1;b,2;c,1");
    check("SELECT url AS u, count() AS c FROM hits GROUP BY 1 HAVING c > 1", "b,2");
    check("SELECT count(), countIf(flag = 1), uniqExact(url), count(DISTINCT user) FROM hits", "4,2,3,3");
    check("SELECT url, sum(id) FROM hits GROUP BY ROLLUP(url) ORDER BY 2", "a,1;c,3;b,6;,10");
    check("SELECT flag = 1, max(id) FROM hits GROUP BY flag = 1 ORDER BY 1", "0,4;1,3");
    check("SELECT count() FROM hits WHERE id > 100", "0");
    check("SELECT sumOrNull(id) FROM hits WHERE id > 100", "NULL");
    check_error("SELECT url, id FROM hits GROUP BY url", ErrorCode::NotAnAggregate);
    check_error("SELECT id FROM hits WHERE count() > 1", ErrorCode::IllegalAggregation);
    check_error("SELECT sum(count()) FROM hits", ErrorCode::IllegalAggregation);
    let planned = plan("SELECT url, count() AS c FROM hits GROUP BY url HAVING c = 1 WITH TOTALS");
    let planned =
        planned.or_else(|_| plan("SELECT url, count() AS c FROM hits GROUP BY url WITH TOTALS HAVING c = 1"));
    let planned = planned.unwrap();
    assert_eq!(rows_of(planned.totals.as_ref().unwrap(), &planned.columns).unwrap(), ",2");
}

#[test]
fn windows_number_and_shift_rows() {
    check(
        "SELECT id, row_number() OVER (PARTITION BY url ORDER BY id) FROM hits ORDER BY id",
        "1,1;2,1;3,1;4,2",
    );
    check("SELECT id, lagInFrame(id) OVER (ORDER BY id) FROM hits ORDER BY id", "1,0;2,1;3,2;4,3");
    check("SELECT id, count() OVER (PARTITION BY url) FROM hits ORDER BY id", "1,1;2,2;3,1;4,2");
    check("SELECT id, sum(id) OVER (ORDER BY id) FROM hits ORDER BY id", "1,1;2,3;3,6;4,10");
}

#[test]
fn columns_are_named_canonically() {
    check_names(
        "SELECT id, h.url, id = 1, id IN (1, 2), NOT flag FROM hits AS h",
        &["id", "url", "equals(id, 1)", "in(id, (1, 2))", "not(flag)"],
    );
    check_names(
        "SELECT id AS a, id BETWEEN 1 AND 2, 'x', -1, 1.5 FROM hits",
        &["a", "and(greaterOrEquals(id, 1), lessOrEquals(id, 2))", "'x'", "-1", "1.5"],
    );
    check_names(
        "SELECT avg(length(url)) + 1, COUNT(*), count() FROM hits",
        &["plus(avg(length(url)), 1)", "count()", "count()"],
    );
}

#[test]
fn unknown_names_come_with_a_suggestion() {
    let error = run("SELECT ulr FROM hits").unwrap_err();
    assert_eq!(error.message(), "column `ulr` not found in `hits`; did you mean `url`?");
    check_error("SELECT x.id FROM hits", ErrorCode::UnknownIdentifier);
    check_error("SELECT id FROM nowhere", ErrorCode::UnknownTable);
}

#[test]
fn aliases_are_visible_everywhere() {
    check("SELECT a + 1 AS b, id * 2 AS a FROM hits WHERE b > 5 ORDER BY b", "7,6;9,8");
    check("SELECT max(id) AS id FROM hits", "4");
    check("SELECT url AS u, count() FROM hits GROUP BY u ORDER BY count() DESC, u LIMIT 1", "b,2");
    check("SELECT (id AS k) + k FROM hits WHERE k = 3", "6");
    check("WITH toString(id) AS s SELECT s FROM hits WHERE s = '2'", "2");
}

#[test]
fn dates_compare_with_text() {
    check("SELECT id FROM hits WHERE day = '1970-01-02' ORDER BY id", "2;3");
    check("SELECT id FROM hits WHERE day BETWEEN '1970-01-03' AND '1970-02-01'", "4");
    check("SELECT id FROM hits WHERE day IN ('1970-01-01', '1970-01-03') ORDER BY id", "1;4");
    check("SELECT toDate('1970-01-05') - INTERVAL 2 DAY = toDate('1970-01-03')", "1");
    check_error("SELECT id FROM hits WHERE day = 'yesterday'", ErrorCode::CannotParseDate);
}

#[test]
fn totals_repeat_the_aggregates_over_all_rows() {
    let planned = plan("SELECT avg(length(url)) + 1, max(id) FROM hits WHERE url != '' WITH TOTALS").unwrap();
    assert_eq!(rows_of(&planned.plan, &planned.columns).unwrap(), "2.0,4");
    assert_eq!(rows_of(planned.totals.as_ref().unwrap(), &planned.columns).unwrap(), "2.0,4");
    let planned =
        plan("SELECT url, sum(id) AS s FROM hits GROUP BY url WITH TOTALS HAVING s > 1 ORDER BY s").unwrap();
    assert_eq!(rows_of(&planned.plan, &planned.columns).unwrap(), "c,3;b,6");
    assert_eq!(rows_of(planned.totals.as_ref().unwrap(), &planned.columns).unwrap(), ",9");
}

#[test]
fn functions_see_typed_arguments() {
    check("SELECT length(*) FROM (SELECT url FROM hits) LIMIT 1", "1");
    check("SELECT CAST(id AS String) || url FROM hits WHERE id = 1", "1a");
    check("SELECT [1, 2, 300][3], (1, 'x').2, -5 % 3", "300,x,-2");
    check("SELECT multiIf(id = 1, 'one', id = 2, 'two', 'many') FROM hits ORDER BY id", "one;two;many;many");
    check("SELECT url LIKE 'b%' FROM hits ORDER BY id", "0;1;0;1");
    check("SELECT 18446744073709551615 > -1, 1 = 1.0, true = 1", "1,1,1");
    check("SELECT t.id, u.id FROM hits t JOIN hits u ON t.id = u.id - 1 AND u.id > 3", "3,4");
    check(
        "SELECT k, v FROM (SELECT map('a', 1, 'b', 2) AS m) ARRAY JOIN mapKeys(m) AS k, mapValues(m) AS v",
        "a,1;b,2",
    );
    check(
        "SELECT pe.Names, pe.Values, pe.keys FROM (SELECT map('a', 1, 'b', 2) AS m) ARRAY JOIN m AS pe",
        "a,1,a;b,2,b",
    );
    check_error(
        "SELECT a FROM (SELECT 1) ARRAY JOIN [1] AS a, [1, 2] AS b",
        ErrorCode::SizesOfArraysDontMatch,
    );
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!("{}1{}", "(SELECT ".repeat(70), ")".repeat(70));
    check_error(&format!("SELECT {deep}"), ErrorCode::TooDeepRecursion);
    let nested = format!("{}id FROM hits{}", "* FROM (SELECT ".repeat(50), ")".repeat(50));
    check(&format!("SELECT max(id) FROM (SELECT {nested})"), "4");
    let chain = vec!["id = 1"; 400].join(" OR ");
    check(&format!("SELECT id FROM hits WHERE {chain}"), "1");
}

#[test]
fn constants_and_expressions_over_columns() {
    with_context(|ctx| {
        let expr = basalt_sql::parse_expr(b"1 = 1 ? 5 : 6").unwrap();
        let (value, ty) = plan_constant(&expr, ctx).unwrap();
        assert_eq!((text_of(&value, 0).as_str(), ty), ("5", SqlType::UInt8));
        let columns = Columns::new(vec![Column::new("a", SqlType::UInt64)]);
        let expr = basalt_sql::parse_expr(b"a > 5 AND a < 10").unwrap();
        let (filter, ty) = plan_expr(&expr, &columns, ctx).unwrap();
        assert_eq!(ty, SqlType::UInt8);
        assert!(filter.to_string().contains("a > UInt64(5)"), "{filter}");
    });
}

/// `id AS a0`, followed by `count` aliases, each defined by the one before it.
fn chain_of_aliases(count: usize, next: impl Fn(&str) -> String) -> String {
    let aliases: Vec<String> =
        (0..count).map(|at| format!("{} AS a{}", next(&format!("a{at}")), at + 1)).collect();
    format!("id AS a0, {}", aliases.join(", "))
}

/// Runs the test with the stack size of the program's threads.
fn on_a_deep_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(32 << 20).spawn(test);
    assert!(thread.is_ok_and(|thread| thread.join().is_ok()));
}

#[test]
fn aliases_of_aliases_are_bound_once() {
    on_a_deep_stack(|| {
        let chain = chain_of_aliases(300, |before| format!("{before} + 1"));
        assert!(plan(&format!("SELECT {chain} FROM hits")).is_ok());
        assert!(plan(&format!("WITH {chain} SELECT a300 FROM hits")).is_ok());
    });
}

#[test]
fn names_that_double_are_refused() {
    on_a_deep_stack(|| {
        let doubled = chain_of_aliases(60, |before| format!("{before} + {before}"));
        check_error(&format!("SELECT {doubled} FROM hits"), ErrorCode::BadArguments);
        check_error(&format!("WITH {doubled} SELECT a60 FROM hits"), ErrorCode::BadArguments);
        let queries: Vec<String> = (0..40)
            .map(|at| format!("c{} AS (SELECT l.id FROM c{at} AS l CROSS JOIN c{at} AS r)", at + 1))
            .collect();
        let sql = format!("WITH c0 AS (SELECT id FROM hits), {} SELECT id FROM c40", queries.join(", "));
        check_error(&sql, ErrorCode::TooManyQueryPlanOptimizations);
    });
}

#[test]
fn long_list_of_literals_is_one_node() {
    on_a_deep_stack(|| {
        let list = (0..600_000).map(|value| value.to_string()).collect::<Vec<_>>().join(", ");
        check(&format!("SELECT 599999 IN ({list}) AS a"), "1");
        check(&format!("SELECT length([{list}]) AS a"), "600000");
    });
}

#[test]
fn aliases_that_go_round_mean_columns() {
    check("SELECT a + 1 AS a, a * 2 AS b FROM (SELECT 10 AS a)", "11,22");
    check_error("SELECT y + 1 AS x, x + 1 AS y FROM hits", ErrorCode::UnknownIdentifier);
}
