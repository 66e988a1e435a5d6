// Small queries from many connections at once, over HTTP, the native protocol of ClickHouse or the protocol of PostgreSQL.
//
//	small_queries http|native|postgres ADDRESS CONNECTIONS QUERIES KEYS STATEMENT
//
// STATEMENT has one %d, which becomes a random number below KEYS. Over HTTP it may be an INSERT. Prints one line of JSON: queries, errors, the first
// error, seconds, and the median, 99th percentile and maximum of a query's time in milliseconds.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/jackc/pgx/v5"
)

// One connection; ask returns when the whole answer is there.
type connection interface {
	ask(statement string) error
	close()
}

type httpConnection struct {
	client *http.Client
	target string
}

func (c *httpConnection) ask(statement string) error {
	answer, err := c.client.Post(c.target, "text/plain", strings.NewReader(statement))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", answer.StatusCode, body)
	}
	if err == nil && len(body) == 0 && !strings.HasPrefix(statement, "INSERT") {
		err = fmt.Errorf("no row")
	}
	return err
}

func (c *httpConnection) close() { c.client.CloseIdleConnections() }

type nativeConnection struct{ db clickhouse.Conn }

func (c *nativeConnection) ask(statement string) error {
	var value string
	return c.db.QueryRow(context.Background(), statement).Scan(&value)
}

func (c *nativeConnection) close() { c.db.Close() }

type postgresConnection struct{ db *pgx.Conn }

func (c *postgresConnection) ask(statement string) error {
	var value string
	return c.db.QueryRow(context.Background(), statement, pgx.QueryExecModeSimpleProtocol).Scan(&value)
}

func (c *postgresConnection) close() { c.db.Close(context.Background()) }

func connect(protocol, address string) (connection, error) {
	switch protocol {
	case "http":
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
		return &httpConnection{client, (&url.URL{Scheme: "http", Host: address, Path: "/"}).String()}, nil
	case "native":
		options := &clickhouse.Options{Addr: []string{address}, MaxOpenConns: 1, MaxIdleConns: 1}
		db, err := clickhouse.Open(options)
		return &nativeConnection{db}, err
	case "postgres":
		db, err := pgx.Connect(context.Background(), address)
		return &postgresConnection{db}, err
	}
	return nil, fmt.Errorf("unknown protocol %s", protocol)
}

type outcome struct {
	times  []float64
	errors int
	first  string
}

func (o *outcome) failed(err error) {
	if o.errors == 0 {
		o.first = err.Error()
	}
	o.errors++
}

func work(protocol, address string, queries, keys int, statement string, ready *sync.WaitGroup, start <-chan struct{}) outcome {
	var done outcome
	c, err := connect(protocol, address)
	if err == nil {
		defer c.close()
		err = c.ask(fmt.Sprintf(statement, 0))
	}
	ready.Done()
	<-start
	if err != nil {
		done.failed(err)
		return done
	}
	for range queries {
		text := fmt.Sprintf(statement, rand.IntN(keys))
		begun := time.Now()
		if err := c.ask(text); err != nil {
			done.failed(err)
		}
		done.times = append(done.times, time.Since(begun).Seconds()*1000)
	}
	return done
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 {
		fmt.Fprintf(os.Stderr, "%s is no number above 0\n", text)
		os.Exit(2)
	}
	return value
}

func main() {
	if len(os.Args) != 7 {
		fmt.Fprintln(os.Stderr, "small_queries http|native|postgres ADDRESS CONNECTIONS QUERIES KEYS STATEMENT")
		os.Exit(2)
	}
	connections, queries, keys := number(os.Args[3]), number(os.Args[4]), number(os.Args[5])
	outcomes := make([]outcome, connections)
	var ready, over sync.WaitGroup
	start := make(chan struct{})
	for at := range connections {
		ready.Add(1)
		over.Go(func() {
			outcomes[at] = work(os.Args[1], os.Args[2], queries/connections, keys, os.Args[6], &ready, start)
		})
	}
	ready.Wait()
	begun := time.Now()
	close(start)
	over.Wait()
	report(outcomes, time.Since(begun).Seconds())
}

func report(outcomes []outcome, seconds float64) {
	var all outcome
	for _, one := range outcomes {
		all.times = append(all.times, one.times...)
		if all.errors == 0 {
			all.first = one.first
		}
		all.errors += one.errors
	}
	sort.Float64s(all.times)
	at := func(part float64) float64 {
		if len(all.times) == 0 {
			return 0
		}
		return all.times[int(part*float64(len(all.times)-1))]
	}
	line := map[string]any{
		"queries": len(all.times), "errors": all.errors, "first_error": all.first, "seconds": seconds,
		"median": at(0.5), "p99": at(0.99), "max": at(1),
	}
	json.NewEncoder(os.Stdout).Encode(line)
}
