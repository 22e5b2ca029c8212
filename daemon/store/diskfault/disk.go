package diskfault

import (
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite "modernc.org/sqlite/lib"
)

// Disk is a file system that SQLite knows by its name. It must be closed when no
// file is open on it any more.
type Disk struct {
	name  string
	inner *sqlite.Tsqlite3_vfs // the real one
	vfs   uintptr              // ours, in C's memory
	held  []any                // what SQLite knows the addresses of

	asking sync.Mutex // guards judge, and is held while it is asked
	judge  Judge

	mu     sync.Mutex          // guards what follows
	tables map[uintptr]uintptr // ours, by the address of the real methods
	open   map[uintptr]string  // files that are open: their paths
	fresh  map[uintptr]bool    // those whose first sync is one of their name too
	files  map[string]*image   // of those that have changed
	tree   *tree               // of Watch; nil: names are not known
}

// New makes a disk known to SQLite by a name of letters that no other has. A nil judge lets
// everything through.
func New(name string, judge Judge) (*Disk, error) {
	tls := libc.NewTLS()
	defer tls.Close()
	inner := sqlite.Xsqlite3_vfs_find(tls, 0)
	if inner == 0 {
		return nil, fmt.Errorf("put a disk %q under SQLite: there is no file system to put it on", name)
	}
	d := &Disk{name: name, inner: at[sqlite.Tsqlite3_vfs](inner), judge: judge,
		tables: map[uintptr]uintptr{}, open: map[uintptr]string{}, fresh: map[uintptr]bool{}, files: map[string]*image{}}
	zName, err := libc.CString(name)
	if err != nil {
		return nil, fmt.Errorf("put a disk %q under SQLite: %w", name, err)
	}
	d.vfs = libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(sqlite.Tsqlite3_vfs{})))
	v := at[sqlite.Tsqlite3_vfs](d.vfs)
	*v = *d.inner
	v.FpNext, v.FzName = 0, zName
	v.FxOpen = function(d, d.xOpen)
	v.FxDelete = function(d, d.xDelete)
	v.FxAccess = function(d, d.xAccess)
	if rc := sqlite.Xsqlite3_vfs_register(tls, d.vfs, 0); rc != sqlite.SQLITE_OK {
		return nil, fmt.Errorf("put a disk %q under SQLite: code %d", name, rc)
	}
	return d, nil
}

// Name is what SQLite knows the disk by.
func (d *Disk) Name() string { return d.name }

// Judge replaces the judge; nil lets everything through.
func (d *Disk) Judge(j Judge) {
	d.asking.Lock()
	defer d.asking.Unlock()
	d.judge = j
}

// Close makes SQLite forget the disk.
func (d *Disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open) > 0 {
		return fmt.Errorf("take the disk %q away: %d files are open", d.name, len(d.open))
	}
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite.Xsqlite3_vfs_unregister(tls, d.vfs)
	libc.Xfree(tls, at[sqlite.Tsqlite3_vfs](d.vfs).FzName)
	libc.Xfree(tls, d.vfs)
	for _, ours := range d.tables {
		libc.Xfree(tls, ours)
	}
	return nil
}

// at is what lies at an address of C's memory.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// function is the address under which C calls f. The disk keeps it alive: what C
// knows is no reference to the collector.
func function[F any](d *Disk, f F) uintptr {
	held := &f
	d.held = append(d.held, held)
	return *(*uintptr)(unsafe.Pointer(held))
}

func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// call is the function at an address.
func call[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{p})) }
