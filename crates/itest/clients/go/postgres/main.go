// pgx against the protocol of PostgreSQL, with its own interface and that of database/sql.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
)

var ctx = context.Background()

const id = "61f0c404-5cb3-11e7-907b-a6006ad3dba0"

var at = time.Date(2024, 1, 2, 3, 4, 5, 678901000, time.UTC)

func check(err error, what string) {
	if err != nil {
		panic(fmt.Sprintf("%s: %v", what, err))
	}
}

func equal(found, expected any, what string) {
	if !reflect.DeepEqual(found, expected) {
		panic(fmt.Sprintf("%s: %#v, not %#v", what, found, expected))
	}
}

func fails(err error, state string) {
	var found *pgconn.PgError
	if !errors.As(err, &found) || found.Code != state {
		panic(fmt.Sprintf("%v, not %s", err, state))
	}
}

type row struct {
	N  int32
	I2 int16
	I8 int64
	U8 uint8
	U4 uint32
	U  pgtype.Numeric
	F4 float32
	F8 float64
	M  pgtype.Numeric
	B  bool
	S  string
	L  string
	Id pgtype.UUID
	D  pgtype.Date
	At time.Time
	A  []int64
	T  []*string
	O  *int32
	P  *string
}

func numeric(text string) (value pgtype.Numeric) {
	check(value.Scan(text), text)
	return value
}

func rows() []row {
	var uuid pgtype.UUID
	check(uuid.Scan(id), "uuid")
	date, text, seven := pgtype.Date{Time: time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC), Valid: true}, "it's \\ \n", int32(7)
	return []row{
		{0, math.MinInt16, math.MinInt64, 0, 0, numeric("0"), 0.5, 0.1, numeric("-1.2500"), true, text, "x", uuid, date, at, []int64{1, -2}, []*string{&text, nil}, nil, nil},
		{1, math.MaxInt16, math.MaxInt64, 255, math.MaxUint32, numeric("18446744073709551615"), -1.25, 1e300, numeric("12345678901234.5678"), false, "", "y", uuid, date, time.Unix(0, 0).UTC(), []int64{3}, []*string{&text}, &seven, &text},
	}
}

func values(r row) []any {
	value, out := reflect.ValueOf(r), []any{}
	for i := 0; i < value.NumField(); i++ {
		out = append(out, value.Field(i).Interface())
	}
	return out
}

func (r row) same(other row) bool {
	r.At, other.At = r.At.UTC(), other.At.UTC()
	left, _ := r.M.Value()
	right, _ := other.M.Value()
	r.M, other.M = pgtype.Numeric{}, pgtype.Numeric{}
	leftU, _ := r.U.Value()
	rightU, _ := other.U.Value()
	r.U, other.U = pgtype.Numeric{}, pgtype.Numeric{}
	return reflect.DeepEqual(r, other) && fmt.Sprint(left) == fmt.Sprint(right) && fmt.Sprint(leftU) == fmt.Sprint(rightU)
}

func allTypes(conn *pgx.Conn, table string) {
	_, err := conn.Exec(ctx, `CREATE TABLE `+table+` (n int4 NOT NULL, i2 int2, i8 int8, u8 UInt8, u4 UInt32, u UInt64, f4 float4, f8 float8, m numeric(18, 4), b bool, s text, l LowCardinality(String), id uuid, d date, at timestamptz, a Array(Int64), t Array(Nullable(String)), o int4, p text) ENGINE = MergeTree ORDER BY n`)
	check(err, "create")
	marks := []string{}
	for i := range reflect.TypeOf(row{}).NumField() {
		marks = append(marks, fmt.Sprint("$", i+1))
	}
	for _, r := range rows() {
		done, err := conn.Exec(ctx, "INSERT INTO "+table+" VALUES ("+strings.Join(marks, ", ")+")", values(r)...)
		check(err, "insert")
		equal(done.String(), "INSERT 0 1", "tag")
	}
	check(selected(conn, table), "select")
}

func selected(conn *pgx.Conn, table string) error {
	found, err := conn.Query(ctx, "SELECT * FROM "+table+" WHERE n >= $1 AND at <= $2 ORDER BY n", 0, at)
	check(err, "query")
	list, err := pgx.CollectRows(found, pgx.RowToStructByPos[row])
	if err != nil {
		return err
	}
	for i, expected := range rows() {
		if len(list) != 2 || !list[i].same(expected) {
			return fmt.Errorf("%+v, not %+v", list, expected)
		}
	}
	return nil
}

func parameters(conn *pgx.Conn) {
	var s string
	var n int64
	var bytes []byte
	check(conn.QueryRow(ctx, "SELECT $1::text, $2::int8 + 1, $3::text", "it's\t\\\n", 41, "x").Scan(&s, &n, &bytes), "scan")
	equal(s, "it's\t\\\n", "text")
	equal(n, int64(42), "number")
	check(conn.QueryRow(ctx, "SELECT count(*) FROM numbers(100) WHERE number = ANY($1)", []int64{1, 5, 1000}).Scan(&n), "any")
	equal(n, int64(2), "any")
	var missing *string
	check(conn.QueryRow(ctx, "SELECT $1::text", nil).Scan(&missing), "null")
	equal(missing, (*string)(nil), "null")
	_, err := conn.Prepare(ctx, "p", "SELECT $1::int4 * 2")
	check(err, "prepare")
	for i := range 20 {
		check(conn.QueryRow(ctx, "p", i).Scan(&n), "prepared")
		equal(n, int64(2*i), "prepared")
	}
	check(conn.Deallocate(ctx, "p"), "deallocate")
}

func batches(conn *pgx.Conn) {
	_, err := conn.Exec(ctx, "CREATE TABLE batched (id int8 NOT NULL, s text) ENGINE = MergeTree ORDER BY id")
	check(err, "create")
	batch := &pgx.Batch{}
	for i := range 20 {
		batch.Queue("INSERT INTO batched (id, s) VALUES ($1, $2)", i, fmt.Sprint(i))
	}
	batch.Queue("SELECT count(*)::int8 FROM batched")
	sent := conn.SendBatch(ctx, batch)
	for range 20 {
		_, err := sent.Exec()
		check(err, "batch")
	}
	var count int64
	check(sent.QueryRow().Scan(&count), "batch")
	check(sent.Close(), "batch")
	equal(count, int64(20), "batch")
	bad := &pgx.Batch{}
	bad.Queue("SELECT 1::int8")
	bad.Queue("SELECT nothing")
	bad.Queue("SELECT 2::int8")
	fails(conn.SendBatch(ctx, bad).Close(), "42703")
	check(conn.Ping(ctx), "ping")
}

func copies(conn *pgx.Conn) {
	all := rows()
	columns := []string{"n", "i2", "i8", "u8", "u4", "u", "f4", "f8", "m", "b", "s", "l", "id", "d", "at", "a", "t", "o", "p"}
	_, err := conn.Exec(ctx, "CREATE TABLE copied AS t")
	check(err, "create")
	count, err := conn.CopyFrom(ctx, pgx.Identifier{"copied"}, columns, pgx.CopyFromSlice(len(all), func(i int) ([]any, error) { return values(all[i]), nil }))
	check(err, "copy")
	equal(count, int64(2), "copy")
	check(selected(conn, "copied"), "copied")
	count, err = conn.CopyFrom(ctx, pgx.Identifier{"default", "copied"}, []string{"n", "s"}, pgx.CopyFromSlice(100_000, func(i int) ([]any, error) { return []any{i + 10, "many"}, nil }))
	check(err, "copy")
	equal(count, int64(100_000), "copy")
	var out bytes.Buffer
	done, err := conn.PgConn().CopyTo(ctx, &out, "COPY (SELECT n, s FROM copied WHERE n >= 10 ORDER BY n) TO STDOUT (FORMAT csv)")
	check(err, "copy to")
	equal(done.RowsAffected(), int64(100_000), "copy to")
	equal(strings.HasPrefix(out.String(), "10,many\n11,many\n"), true, "copy to")
	_, err = conn.PgConn().CopyFrom(ctx, strings.NewReader("x\ty\n"), "COPY copied (n, s) FROM STDIN")
	fails(err, "22P02")
}

func errorsAndDeadlines(conn *pgx.Conn, address string) {
	_, err := conn.Exec(ctx, "SELECT * FROM missing")
	fails(err, "42P01")
	_, err = conn.Exec(ctx, "SELEC 1")
	fails(err, "42601")
	_, err = conn.Exec(ctx, "SELECT $1::int4", "x")
	if err == nil {
		panic("no error")
	}
	_, err = pgx.Connect(ctx, strings.Replace(address, "default@", "nobody:x@", 1))
	fails(err, "28P01")
	endless := "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(number)"
	other, err := pgx.Connect(ctx, address)
	check(err, "connect")
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	_, err = other.Exec(short, endless)
	cancel()
	if !errors.Is(err, context.DeadlineExceeded) {
		panic(err)
	}
	config, err := pgx.ParseConfig(address)
	check(err, "config")
	config.RuntimeParams["statement_timeout"] = "300"
	hasty, err := pgx.ConnectConfig(ctx, config)
	check(err, "connect")
	_, err = hasty.Exec(ctx, endless)
	fails(err, "57014")
	check(hasty.Ping(ctx), "ping")
	go func() {
		time.Sleep(300 * time.Millisecond)
		check(conn.PgConn().CancelRequest(ctx), "cancel")
	}()
	_, err = conn.Exec(ctx, endless)
	fails(err, "57014")
	check(hasty.Close(ctx), "close")
}

func streams(conn *pgx.Conn) {
	found, err := conn.Query(ctx, "SELECT number, toString(number) FROM numbers(3000000)")
	check(err, "stream")
	var number uint64
	var text string
	var sum uint64
	_, err = pgx.ForEachRow(found, []any{&number, &text}, func() error { sum += number; return nil })
	check(err, "stream")
	equal(sum, uint64(2999999*3000000/2), "stream")
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	if memory.Sys > 200<<20 {
		panic(memory.Sys)
	}
}

func transactions(conn *pgx.Conn) {
	tx, err := conn.Begin(ctx)
	check(err, "begin")
	var n int32
	check(tx.QueryRow(ctx, "SELECT 5::int4").Scan(&n), "inside")
	check(tx.Commit(ctx), "commit")
	tx, err = conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	check(err, "begin")
	check(tx.Rollback(ctx), "rollback")
}

func pools(address string) {
	pool, err := pgxpool.New(ctx, address)
	check(err, "pool")
	results := make(chan int32, 50)
	for i := range 50 {
		go func() {
			var n int32
			check(pool.QueryRow(ctx, "SELECT $1::int4", i).Scan(&n), "pool")
			results <- n
		}()
	}
	sum := int32(0)
	for range 50 {
		sum += <-results
	}
	equal(sum, int32(49*50/2), "pool")
	pool.Close()
}

func databaseSql(address string) {
	db, err := sql.Open("pgx", address)
	check(err, "open")
	statement, err := db.Prepare("SELECT n, m::text, o FROM t WHERE n = $1 AND id = $2")
	check(err, "prepare")
	for range 3 {
		var n int
		var m string
		var o sql.NullInt32
		check(statement.QueryRow(1, id).Scan(&n, &m, &o), "scan")
		equal(fmt.Sprintf("%d %s %v", n, m, o), "1 12345678901234.5678 {7 true}", "sql")
	}
	tx, err := db.Begin()
	check(err, "begin")
	_, err = tx.Exec("INSERT INTO batched (id, s) VALUES ($1, $2)", 100, nil)
	check(err, "exec")
	check(tx.Commit(), "commit")
	check(db.Close(), "close")
}

func main() {
	address := "postgres://default@" + os.Args[1] + "/default?" + os.Args[2]
	conn, err := pgx.Connect(ctx, address)
	check(err, "connect")
	allTypes(conn, "t")
	parameters(conn)
	batches(conn)
	copies(conn)
	errorsAndDeadlines(conn, address)
	streams(conn)
	transactions(conn)
	pools(address)
	databaseSql(address)
	check(conn.Close(ctx), "close")
	fmt.Println("ok")
}
