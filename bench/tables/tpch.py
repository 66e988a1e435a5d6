"""The eight tables of TPC-H, made by the package tpchgen-cli as files of comma-separated values."""

import os
import subprocess
import sys

TABLES = {
    "region": ("r_regionkey Int32, r_name String, r_comment String", "r_regionkey"),
    "nation": ("n_nationkey Int32, n_name String, n_regionkey Int32, n_comment String", "n_nationkey"),
    "supplier": (
        "s_suppkey Int32, s_name String, s_address String, s_nationkey Int32, s_phone String, "
        "s_acctbal Decimal(15,2), s_comment String",
        "s_suppkey",
    ),
    "customer": (
        "c_custkey Int32, c_name String, c_address String, c_nationkey Int32, c_phone String, "
        "c_acctbal Decimal(15,2), c_mktsegment String, c_comment String",
        "c_custkey",
    ),
    "part": (
        "p_partkey Int32, p_name String, p_mfgr String, p_brand String, p_type String, p_size Int32, "
        "p_container String, p_retailprice Decimal(15,2), p_comment String",
        "p_partkey",
    ),
    "partsupp": (
        "ps_partkey Int32, ps_suppkey Int32, ps_availqty Int32, ps_supplycost Decimal(15,2), ps_comment String",
        "ps_partkey, ps_suppkey",
    ),
    "orders": (
        "o_orderkey Int64, o_custkey Int32, o_orderstatus String, o_totalprice Decimal(15,2), o_orderdate Date, "
        "o_orderpriority String, o_clerk String, o_shippriority Int32, o_comment String",
        "o_orderkey",
    ),
    "lineitem": (
        "l_orderkey Int64, l_partkey Int32, l_suppkey Int32, l_linenumber Int32, l_quantity Decimal(15,2), "
        "l_extendedprice Decimal(15,2), l_discount Decimal(15,2), l_tax Decimal(15,2), l_returnflag String, "
        "l_linestatus String, l_shipdate Date, l_commitdate Date, l_receiptdate Date, l_shipinstruct String, "
        "l_shipmode String, l_comment String",
        "l_orderkey, l_linenumber",
    ),
}

DUCKDB_TYPES = {"Int32": "INTEGER", "Int64": "BIGINT", "String": "VARCHAR", "Date": "DATE"}


def write_csv(directory, scale):
    """The folder of the files at scale factor `scale`, made unless an earlier run made it."""
    path = os.path.join(directory, f"tpch-{scale}")
    if not os.path.exists(path):
        unfinished = f"{path}.unfinished"
        program = os.path.join(os.path.dirname(sys.executable), "tpchgen-cli")
        command = [program, "csv", "--scale-factor", str(scale), "--output-dir", unfinished]
        subprocess.run(command, check=True)
        os.rename(unfinished, path)
    return os.path.abspath(path)


def create(engine, table):
    columns, key = TABLES[table]
    if engine.name == "duckdb":
        for name, duck in DUCKDB_TYPES.items():
            columns = columns.replace(f" {name}", f" {duck}")
        return f"CREATE TABLE {table} ({columns})"
    return f"CREATE TABLE {table} ({columns}) ENGINE = MergeTree ORDER BY ({key})"


def load(engine, table, directory):
    path = os.path.join(directory, f"{table}.csv")
    if engine.name == "basalt":
        return f"INSERT INTO {table} FROM INFILE '{path}' FORMAT CSVWithNames"
    if engine.name == "clickhouse":
        return f"INSERT INTO {table} SELECT * FROM file('{path}', 'CSVWithNames', '{TABLES[table][0]}')"
    return f"INSERT INTO {table} SELECT * FROM read_csv('{path}', header=true)"
