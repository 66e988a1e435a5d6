//! ibis: data frames in Python whose expressions run in the database.

use basalt_itest::python::Python;
use basalt_itest::server::Server;
use basalt_itest::skipped;

const SCRIPT: &str = r#"
import sys, ibis, pandas
con = ibis.clickhouse.connect(host='127.0.0.1', port=int(sys.argv[1]))
assert 'default' in con.list_databases() and con.list_tables() == []
schema = ibis.schema({'id': '!int64', 'name': '!string', 'weight': 'float64', 'seen': '!timestamp'})
con.create_table('birds', schema=schema)
frame = pandas.DataFrame({'id': [1, 2, 3], 'name': ['owl', 'tit', 'owl'], 'weight': [1.5, None, 2.5], 'seen': pandas.to_datetime(['2024-01-01'] * 3)})
con.insert('birds', frame)
birds = con.table('birds')
assert birds.schema()['weight'].nullable and not birds.schema()['id'].nullable, birds.schema()
totals = birds.group_by('name').agg(n=birds.count(), w=birds.weight.sum()).order_by('name').to_pandas()
assert totals['n'].tolist() == [2, 1] and totals['w'][0] == 4.0, totals
assert birds.to_pyarrow().num_rows == 3 and sum(batch.num_rows for batch in birds.to_pyarrow_batches()) == 3
labels = ibis.memtable({'id': [1, 2], 'label': ['one', 'two']})
assert birds.join(labels, 'id').select('id', 'label').order_by('id').execute()['label'].tolist() == ['one', 'two']
con.create_table('copy', birds.filter(birds.id > 1))
assert con.table('copy').count().execute() == 2 and con.list_tables(like='co') == ['copy']
con.create_view('doubled', birds.mutate(x=birds.id * 2))
assert con.table('doubled').x.sum().execute() == 12
assert con.sql('SELECT number AS n FROM numbers(5)').n.mean().execute() == 2.0
w = birds.mutate(r=ibis.row_number().over(group_by='name', order_by=birds.id)).order_by('id').execute()
assert w['r'].tolist() == [0, 0, 1], w
con.truncate_table('copy')
assert con.table('copy').count().execute() == 0
con.drop_view('doubled')
con.drop_table('copy')
assert con.list_tables() == ['birds']
"#;

#[test]
fn expressions_run_in_the_database() {
    let packages = ["ibis-framework[clickhouse]==12.0.0", "packaging", "sqlglot==28.10.1"];
    let python = match Python::with("ibis", &packages) {
        Ok(python) => python,
        Err(why) => return skipped(&format!("ibis cannot be installed: {why}")),
    };
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    python.run(SCRIPT, &[&server.address().port().to_string()]);
}
