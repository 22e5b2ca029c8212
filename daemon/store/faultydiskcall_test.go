package store

import (
	"fmt"
	"path/filepath"
	"strings"
)

// A diskOp is an operation that SQLite requests from its file system.
type diskOp string

// The operations that can fail. Closing and unlocking cannot fail.
const (
	opOpen     diskOp = "open"
	opDelete   diskOp = "delete"
	opAccess   diskOp = "access"
	opRead     diskOp = "read"
	opWrite    diskOp = "write"
	opTruncate diskOp = "truncate"
	opSync     diskOp = "sync"
	opSize     diskOp = "size"
	opLock     diskOp = "lock"
	opShm      diskOp = "shm"      // mapping a part of the log's index
	opShmLock  diskOp = "shm lock" // locking a part of the log's index
)

// Calls that SQLite does not make, but other programs do. They sync a file, the names in a
// directory, or a whole disk.
const (
	opSyncFile  diskOp = "sync file"
	opSyncNames diskOp = "sync names"
	opSyncDisk  diskOp = "sync disk"
)

// A diskCall is one call that is about to be made.
type diskCall struct {
	Op   diskOp
	Path string
	Off  int64 // offset of a read or write
	N    int   // length of a read or write
}

func (c diskCall) String() string {
	return fmt.Sprintf("%s of %s at %d, %d bytes", c.Op, strings.TrimPrefix(filepath.Base(c.Path), "state.db"), c.Off, c.N)
}

// A diskFault says how a call fails.
type diskFault int

const (
	noFault       diskFault = iota
	faultIO                 // EIO
	faultFull               // ENOSPC; half of a write is done
	faultShort              // half of a write is done, then EIO
	faultRefused            // EROFS
	faultUnsynced           // a sync is reported as done, but is not
)

// A diskJudge decides how a call fails. It is called for one call at a time.
type diskJudge func(diskCall) diskFault
