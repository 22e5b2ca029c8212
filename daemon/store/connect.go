package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
)

// access is what a pool of connections is for.
type access int

const (
	writing access = iota
	reading
	reporting
)

// readers and reporters are how many reads, and long ones, can be under way at once.
const (
	readers   = 4
	reporters = 2
)

// readCache is how much of the file each connection that reads keeps, in KiB: they look up single rows, or read
// all once, and what the system keeps of the file serves all of them. SQLite's own would be 2 MiB.
const readCache = "cache_size(-512)"

// connect opens a pool of connections. The log (WAL) lets readers see the last
// committed state without waiting for the writer; synchronous=FULL makes every
// commit reach the disk. Checkpoints are run by Commit, not by SQLite behind
// it: a failing one would make a durable commit report an error.
func connect(ctx context.Context, path, vfs string, a access) (*sql.DB, error) {
	q := url.Values{}
	q.Set("_defensive", "1")
	pragmas := []string{
		"busy_timeout(10000)", "foreign_keys(ON)", "synchronous(FULL)", "wal_autocheckpoint(0)", "trusted_schema(OFF)", "temp_store(MEMORY)",
	}
	if a != writing {
		pragmas = append(pragmas, readCache)

	}
	q.Set("_error_rc", "1")
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	if vfs != "" {
		q.Set("vfs", vfs)
	}
	n := 1
	switch a {
	case reading, reporting:
		q.Set("mode", "ro")
		n = map[access]int{reading: readers, reporting: reporters}[a]
	case writing:
		q.Set("mode", "rw")
		q.Set("_txlock", "immediate")
	}
	dsn := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("connect to %q: %w", path, err)
	}
	return db, nil
}
