package diskfault

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Op is an operation that SQLite requests from its file system.
type Op string

// The operations that can fail. Closing and unlocking cannot fail.
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
	Shm      Op = "shm"      // mapping a part of the log's index
	ShmLock  Op = "shm lock" // locking a part of the log's index
)

// Calls that SQLite does not make, but other programs do. They sync a file, or the names in a
// directory.
const (
	SyncFile  Op = "sync file"
	SyncNames Op = "sync names"
)

// Call is one call that is about to be made.
type Call struct {
	Op   Op
	Path string
	Off  int64 // offset of a read or write
	N    int   // length of a read or write
}

func (c Call) String() string {
	return fmt.Sprintf("%s of %s at %d, %d bytes", c.Op, strings.TrimPrefix(filepath.Base(c.Path), "state.db"), c.Off, c.N)
}

// Fault says how a call fails.
type Fault int

const (
	None  Fault = iota
	IOErr       // EIO
	Full        // ENOSPC; half of a write is done
	Short       // half of a write is done, then EIO
)

// Judge decides how a call fails. It is called for one call at a time.
type Judge func(Call) Fault
