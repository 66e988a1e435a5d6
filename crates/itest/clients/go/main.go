package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

func check(err error, what string) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(1)
	}
}

func main() {
	protocol := clickhouse.Native
	if os.Args[1] == "http" {
		protocol = clickhouse.HTTP
	}
	method := map[string]clickhouse.CompressionMethod{"none": clickhouse.CompressionNone, "lz4": clickhouse.CompressionLZ4, "zstd": clickhouse.CompressionZSTD, "gzip": clickhouse.CompressionGZIP, "br": clickhouse.CompressionBrotli}[os.Args[3]]
	options := clickhouse.Options{Protocol: protocol, Addr: []string{os.Args[2]}, Compression: &clickhouse.Compression{Method: method, Level: 1}, Settings: clickhouse.Settings{"max_threads": 2}}
	conn, err := clickhouse.Open(&options)
	check(err, "open")
	ctx := context.Background()
	check(conn.Ping(ctx), "ping")
	version, err := conn.ServerVersion()
	check(err, "version")
	fmt.Println(version.DisplayName, version.Version, version.Timezone)
	check(conn.Exec(ctx, "DROP TABLE IF EXISTS g"), "drop")
	check(conn.Exec(ctx, `CREATE TABLE g (id UInt64, i Int32, f Float64, b Bool, s String, l LowCardinality(String), u UUID, d Date, t DateTime('UTC'), t6 DateTime64(6, 'UTC'), m Decimal(18, 4), e Enum8('a' = 1, 'b' = 2), n Nullable(String), a Array(Nullable(Int32)), mp Map(String, UInt64), tp Tuple(x Int32, y String), ip IPv4) ENGINE = MergeTree ORDER BY id`), "create")
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO g")
	check(err, "prepare")
	now := time.Date(2024, 1, 2, 3, 4, 5, 678901000, time.UTC)
	id := uuid.MustParse("61f0c404-5cb3-11e7-907b-a6006ad3dba0")
	one := int32(1)
	for i := 0; i < 1000; i++ {
		var n *string
		if i%2 == 0 {
			text := "it's"
			n = &text
		}
		check(batch.Append(uint64(i), int32(-i), float64(i)/2, i%2 == 0, fmt.Sprint("s", i), "low", id, now, now, now, decimal.New(int64(i), -2), "b", n, []*int32{&one, nil}, map[string]uint64{"k": uint64(i)}, []any{int32(i), "y"}, "127.0.0.1"), "append")
	}
	check(batch.Send(), "send")
	var count, sum uint64
	check(conn.QueryRow(ctx, "SELECT count(), sum(id) FROM g").Scan(&count, &sum), "scan")
	if count != 1000 || sum != 499500 {
		panic(fmt.Sprint(count, sum))
	}
	type row struct {
		Id uint64          `ch:"id"`
		S  string          `ch:"s"`
		L  string          `ch:"l"`
		U  uuid.UUID       `ch:"u"`
		T6 time.Time       `ch:"t6"`
		M  decimal.Decimal `ch:"m"`
		E  string          `ch:"e"`
		N  *string         `ch:"n"`
		A  []*int32        `ch:"a"`
		Mp map[string]uint64 `ch:"mp"`
	}
	var rows []row
	check(conn.Select(ctx, &rows, "SELECT id, s, l, u, t6, m, e, n, a, mp FROM g WHERE id < 2 ORDER BY id"), "select")
	if len(rows) != 2 || rows[1].S != "s1" || rows[0].U != id || !rows[0].T6.Equal(now) || rows[1].M.String() != "0.01" || rows[1].N != nil || *rows[0].N != "it's" || rows[0].A[1] != nil || rows[1].Mp["k"] != 1 || rows[0].E != "b" {
		panic(fmt.Sprintf("%+v", rows))
	}
	var text string
	var number int32
	parameters := clickhouse.Context(ctx, clickhouse.WithParameters(clickhouse.Parameters{"s": "it's", "n": "-5"}))
	check(conn.QueryRow(parameters, "SELECT {s:String}, {n:Int32}").Scan(&text, &number), "parameters")
	if text != "it's" || number != -5 {
		panic(text)
	}
	check(conn.QueryRow(ctx, "SELECT ?, ?", "it's\t\\", 7).Scan(&text, new(uint8)), "bind")
	if text != "it's\t\\" {
		panic(text)
	}
	err = conn.QueryRow(ctx, "SELECT nothing").Scan(&text)
	var exception *clickhouse.Exception
	if !errors.As(err, &exception) || exception.Code != 47 {
		panic(fmt.Sprintf("%T %v", err, err))
	}
	table, err := ext.NewTable("ids", ext.Column("x", "UInt64"))
	check(err, "external")
	check(table.Append(uint64(3)), "external append")
	check(table.Append(uint64(4)), "external append")
	external := clickhouse.Context(ctx, clickhouse.WithExternalTable(table))
	check(conn.QueryRow(external, "SELECT sum(x) FROM ids").Scan(&sum), "external query")
	if sum != 7 { panic(sum) }
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	err = conn.QueryRow(short, "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(number)").Scan(&count)
	cancel()
	if err == nil { panic("no timeout") }
	stream, err := conn.Query(ctx, "SELECT number FROM numbers(3000000)")
	check(err, "stream")
	count = 0
	for stream.Next() { var n uint64; check(stream.Scan(&n), "row"); count += 1 }
	check(stream.Err(), "stream end")
	if count != 3000000 { panic(count) }
	check(conn.AsyncInsert(ctx, "INSERT INTO g (id) VALUES (5000)", true), "async insert")
	db := clickhouse.OpenDB(&options)
	check(db.Ping(), "sql ping")
	check(db.QueryRow("SELECT count() FROM g WHERE id < ?", 10).Scan(&count), "sql")
	tx, err := db.Begin()
	check(err, "begin")
	statement, err := tx.Prepare("INSERT INTO g (id, s)")
	check(err, "sql prepare")
	for i := 0; i < 10; i++ {
		_, err = statement.Exec(uint64(10000+i), "x")
		check(err, "sql exec")
	}
	check(tx.Commit(), "commit")
	check(db.QueryRow("SELECT count() FROM g WHERE id >= 10000").Scan(&count), "sql")
	if count != 10 { panic(count) }
	fmt.Println("ok", os.Args[1], os.Args[3])
}
