package diskfault

import (
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite "modernc.org/sqlite/lib"
)

// Disk is a file system that SQLite knows by its name. Close it once all files on it are closed.
type Disk struct {
	name  string
	inner *sqlite.Tsqlite3_vfs // the real file system
	vfs   uintptr              // the address of the disk's own file system, in C's memory
	held  []any                // values whose addresses SQLite has been given

	asking sync.Mutex // guards judge, and is locked while judge is called
	judge  Judge

	mu     sync.Mutex          // guards the fields that follow
	tables map[uintptr]uintptr // the disk's tables of methods, by the addresses of the real tables
	open   map[uintptr]string  // paths of open files
	fresh  map[uintptr]bool    // files whose first sync also syncs their names
	files  map[string]*image   // images of the files that have changed
	tree   *tree               // set by Watch; nil: names are not tracked
}

// New registers a disk with SQLite. The name must be unique and consist of letters. A nil judge
// allows every call.
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

// Name returns the name under which SQLite knows the disk.
func (d *Disk) Name() string { return d.name }

// Judge replaces the judge; nil allows every call.
func (d *Disk) Judge(j Judge) {
	d.asking.Lock()
	defer d.asking.Unlock()
	d.judge = j
}

// Close unregisters the disk.
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

// This function returns a pointer to the value at an address in C's memory.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// This function returns an address under which C can call f. The disk keeps f alive, because Go's
// garbage collector does not see an address in C.
func function[F any](d *Disk, f F) uintptr {
	held := &f
	d.held = append(d.held, held)
	return *(*uintptr)(unsafe.Pointer(held))
}

func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// call returns the function at an address.
func call[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{p})) }
