package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"runtime"
)

// access is a purpose for which connections are used.
type access int

const (
	writing   access = iota
	reading          // a few rows, for people
	urgent           // a few rows, for a submission or a start, which must not wait for people
	reporting        // long reads
)

// connections returns the number of reads for one purpose that can run at the same time. On a
// machine with several processors, long reads leave one processor free.
func connections(a access) int {
	switch a {
	case reading:
		return 4
	case urgent:
		return 2
	case reporting:
		return max(1, min(2, runtime.GOMAXPROCS(0)-1))
	}
	return 1
}

// readCache sets the cache of each connection that reads, in KiB. Such connections look up single
// rows, or read everything once, and the system's page cache serves all of them. SQLite's default
// would be 2 MiB.
const readCache = "cache_size(-512)"

// connect opens a pool of connections. With the log (WAL), readers see the last committed state
// without waiting for the writer. With synchronous=FULL, every commit reaches the disk. Commit
// makes the checkpoints itself. If SQLite made them, a failed checkpoint would make a durable
// commit return an error.
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
	q.Set("mode", "ro")
	if a == writing {
		q.Set("mode", "rw")
		q.Set("_txlock", "immediate")
	}
	dsn := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections(a))
	db.SetMaxIdleConns(connections(a))
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("connect to %q: %w", path, err)
	}
	return db, nil
}
