package diskfault

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Op is what SQLite asks of its file system.
type Op string

// What a judge is asked about. Closing and giving a lock back can't fail.
const (
	Open     Op = "open"
	Delete   Op = "delete"
	Access   Op = "access"
	Read     Op = "read"
	Write    Op = "write"
	Truncate Op = "truncate"
	Sync     Op = "sync"
	Size     Op = "size"
	Lock     Op = "lock"
	Shm      Op = "shm"      // a part of the index of the log is mapped
	ShmLock  Op = "shm lock" // of that index
)

// Calls beside SQLite that bring something to the disk: all of a file, and the names
// in a directory.
const (
	SyncFile  Op = "sync file"
	SyncNames Op = "sync names"
)

// Call is one call, before it is made.
type Call struct {
	Op   Op
	Path string
	Off  int64 // where it reads or writes
	N    int   // how much
}

func (c Call) String() string {
	return fmt.Sprintf("%s of %s at %d, %d bytes", c.Op, strings.TrimPrefix(filepath.Base(c.Path), "state.db"), c.Off, c.N)
}

// Fault is what becomes of a call.
type Fault int

const (
	None  Fault = iota
	IOErr       // EIO
	Full        // ENOSPC; half of a write is done
	Short       // half of a write is done, then EIO
)

// Judge says what becomes of a call. It is asked by one call at a time.
type Judge func(Call) Fault
