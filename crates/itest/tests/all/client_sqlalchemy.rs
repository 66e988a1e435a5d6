//! clickhouse-sqlalchemy: a dialect of SQLAlchemy, over HTTP and over the native protocol.

use basalt_itest::python::Python;
use basalt_itest::server::Server;
use basalt_itest::skipped;

const SCRIPT: &str = r#"
import sys, datetime, pandas
from sqlalchemy import create_engine, text, Column, MetaData, select, func, inspect
from clickhouse_sqlalchemy import Table, make_session, get_declarative_base, types, engines
from clickhouse_sqlalchemy.exceptions import DatabaseException
engine = create_engine(sys.argv[1])
session = make_session(engine)
Base = get_declarative_base(metadata=MetaData())
class Rate(Base):
    day = Column(types.Date, primary_key=True)
    value = Column(types.Int32)
    name = Column(types.String)
    other = Column(types.Nullable(types.Float64))
    __table_args__ = (engines.MergeTree(order_by=['day'], partition_by=func.toYYYYMM(day)),)
table = Rate.__table__
table.create(engine)
today = datetime.date(2024, 1, 31)
rows = [{'day': today - datetime.timedelta(i), 'value': 200 - i, 'name': f"it's {i}", 'other': None if i % 2 else i / 2} for i in range(100)]
session.execute(table.insert(), rows)
assert session.query(func.count(Rate.day)).filter(Rate.day > today - datetime.timedelta(20)).scalar() == 20
assert session.query(Rate.name, Rate.other).filter(Rate.value >= 199).order_by(Rate.day).all() == [("it's 1", None), ("it's 0", 0.0)]
assert session.execute(text('SELECT count() FROM rate WHERE value > :x'), {'x': 150}).scalar() == 50
found = inspect(engine)
assert found.get_table_names() == ['rate'] and 'default' in found.get_schema_names()
assert [(c['name'], type(c['type'])) for c in found.get_columns('rate')][:2] == [('day', types.Date), ('value', types.Int32)]
read = Table('rate', MetaData(), autoload_with=engine)
assert [c.name for c in read.columns] == ['day', 'value', 'name', 'other'] and isinstance(read.columns.other.type, types.Nullable)
try:
    session.execute(text('SELECT nothing'))
    assert False
except DatabaseException as e:
    assert '47' in str(e), e
session.rollback()
frame = pandas.read_sql(select(Rate.day, Rate.value).order_by(Rate.day).limit(3), engine)
assert frame['value'].tolist() == [101, 102, 103], frame
table.drop(engine)
assert inspect(engine).get_table_names() == []
"#;

#[test]
fn tables_of_classes_are_made_filled_and_queried() {
    let packages = ["clickhouse-sqlalchemy==0.3.2", "sqlalchemy<2.1", "requests", "pandas"];
    let python = match Python::with("clickhouse-sqlalchemy", &packages) {
        Ok(python) => python,
        Err(why) => return skipped(&format!("clickhouse-sqlalchemy cannot be installed: {why}")),
    };
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    python.run(SCRIPT, &[&format!("clickhouse+http://default:@{}/default", server.address())]);
    python.run(SCRIPT, &[&format!("clickhouse+native://default@{}/default", server.tcp_address())]);
}
