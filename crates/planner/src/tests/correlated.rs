//! Results of correlated subqueries, and which of them are planned without a join.

use datafusion::common::tree_node::TreeNode;

use super::*;

#[test]
fn rows_find_the_rows_of_their_subquery() {
    check(
        "SELECT id FROM hits AS h WHERE EXISTS (SELECT 1 FROM users AS u WHERE u.user = h.user) ORDER BY id",
        "1;2;3",
    );
    check("SELECT id FROM hits AS h WHERE NOT EXISTS (SELECT 1 FROM users AS u WHERE u.user = h.user)", "4");
    check(
        "SELECT id FROM hits AS h WHERE id IN (SELECT i.id FROM hits AS i WHERE i.url = h.url AND i.flag) ORDER BY id",
        "2;3",
    );
    check(
        "SELECT id FROM hits AS h WHERE id = (SELECT max(id) FROM hits AS i WHERE i.url = h.url) ORDER BY id",
        "1;3;4",
    );
    check(
        "SELECT x, (SELECT count() FROM maybe AS n WHERE n.x = m.x) FROM maybe AS m ORDER BY x",
        "-3,1;1,1;NULL,NULL",
    );
    check(
        "SELECT x, (SELECT count() FROM users AS u WHERE m.x IS NULL) FROM maybe AS m ORDER BY x",
        "-3,NULL;1,NULL;NULL,4",
    );
}

#[test]
fn groups_have_subqueries_of_their_own() {
    check(
        "SELECT user, (SELECT count() FROM users AS u WHERE u.user = h.user) AS c FROM hits AS h GROUP BY user ORDER BY user",
        "10,1;20,2;30,NULL",
    );
    check(
        "SELECT (SELECT count() FROM users AS u WHERE u.user = h.user) AS c, count() FROM hits AS h GROUP BY c ORDER BY c",
        "1,2;2,1;NULL,1",
    );
    check("SELECT sum((SELECT count() FROM users AS u WHERE u.user = h.user)) FROM hits AS h", "4");
    check_error(
        "SELECT url, (SELECT count() FROM users AS u WHERE u.user = h.user) FROM hits AS h GROUP BY url",
        ErrorCode::NotAnAggregate,
    );
}

#[test]
fn names_are_those_of_the_nearest_query() {
    check(
        "SELECT id FROM hits WHERE EXISTS (SELECT 1 FROM users WHERE user = hits.user AND name = 'ann') ORDER BY id",
        "1;3",
    );
    check("SELECT 2 AS k, (SELECT k + 1), (SELECT (SELECT k + id FROM hits WHERE id = 1))", "2,3,3");
    check(
        "SELECT id FROM hits AS h WHERE EXISTS (SELECT 1 FROM users AS u WHERE EXISTS (SELECT 1 WHERE u.user = h.user))
           ORDER BY id",
        "1;2;3",
    );
    check_error(
        "SELECT id FROM hits WHERE EXISTS (SELECT 1 FROM users WHERE nosuch = 1)",
        ErrorCode::UnknownIdentifier,
    );
}

#[test]
fn a_subquery_of_its_own_is_no_join() {
    let joins = |sql: &str| {
        let plan = plan(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).plan;
        plan.exists(|node| Ok(matches!(node, LogicalPlan::Join(_)))).unwrap()
    };
    assert!(!joins("SELECT id FROM hits WHERE user IN (SELECT user FROM users)"));
    assert!(!joins("SELECT id FROM hits WHERE EXISTS (SELECT 1 FROM users AS u WHERE u.user = 10)"));
    assert!(!joins(
        "SELECT id FROM hits AS h WHERE EXISTS (SELECT count() FROM users AS u WHERE u.user = h.user)"
    ));
    assert!(joins("SELECT id FROM hits AS h WHERE EXISTS (SELECT 1 FROM users AS u WHERE u.user = h.user)"));
}

#[test]
fn clauses_without_subqueries_of_rows_say_so() {
    check_error(
        "SELECT id FROM hits AS h JOIN users AS u ON h.user = u.user AND EXISTS (SELECT 1 FROM maybe AS m WHERE m.x = h.id)",
        ErrorCode::NotImplemented,
    );
    check_error(
        "SELECT arrayMap(x -> (SELECT count() FROM users AS u WHERE u.user = x), items) FROM lists",
        ErrorCode::NotImplemented,
    );
    check_error(
        "SELECT row_number() OVER () AS r, (SELECT count() FROM users AS u WHERE u.user = r) FROM hits",
        ErrorCode::NotImplemented,
    );
}
