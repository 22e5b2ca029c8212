package store

import (
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite "modernc.org/sqlite/lib"
)

// A faultyDisk is a file system for SQLite that fails on demand. SQLite finds the disk by its name.
// The disk also tracks what would remain of the files after a power cut. Close the disk once all
// files on it are closed.
//
// Each call that SQLite makes (open, read, write, sync, the shared memory of the log's index,
// locks) is shown to a judge, which allows the call or names a fault. Other code can show its calls
// to the same judge (Ask). Calls that the judge allows go to the real file. So a file that was
// written under faults can be opened again without faults. No real sync is made: the disk itself
// tracks which data is on disk.
//
// Invariants:
//
//  1. A call with a fault has changed nothing, except that the first part of a write may be in the
//     file.
//  2. A sync that fails has synced nothing. No later sync will sync the same pages unless they are
//     written again, because the kernel considers them clean after the failure.
//  3. After a power loss, each sector that was written since its last sync has either its old or
//     its new content.
//  4. In a watched directory, a power loss undoes some, all or none of the creations, renames and
//     removals since the names were last synced. Each of them is undone whole or not at all. Names
//     are synced by a sync of the directory, or by the first sync of a log or journal, because
//     SQLite then syncs the directory as well.
type faultyDisk struct {
	name  string
	inner *sqlite.Tsqlite3_vfs // the real file system
	vfs   uintptr              // the address of the disk's own file system, in C's memory
	held  []any                // values whose addresses SQLite has been given

	asking sync.Mutex // guards judge, and is locked while judge is called
	judge  diskJudge

	mu     sync.Mutex            // guards the fields that follow
	tables map[uintptr]uintptr   // the disk's tables of methods, by the addresses of the real tables
	open   map[uintptr]string    // paths of open files
	fresh  map[uintptr]bool      // files whose first sync also syncs their names
	files  map[string]*diskImage // images of the files that have changed
	tree   *nameTree             // set by Watch; nil: names are not tracked
}

// newFaultyDisk registers a disk with SQLite. The name must be unique and consist of letters. A nil judge
// allows every call.
func newFaultyDisk(name string, judge diskJudge) (*faultyDisk, error) {
	tls := libc.NewTLS()
	defer tls.Close()
	inner := sqlite.Xsqlite3_vfs_find(tls, 0)
	if inner == 0 {
		return nil, fmt.Errorf("put a disk %q under SQLite: there is no file system to put it on", name)
	}
	d := &faultyDisk{name: name, inner: atAddress[sqlite.Tsqlite3_vfs](inner), judge: judge,
		tables: map[uintptr]uintptr{}, open: map[uintptr]string{}, fresh: map[uintptr]bool{}, files: map[string]*diskImage{}}
	zName, err := libc.CString(name)
	if err != nil {
		return nil, fmt.Errorf("put a disk %q under SQLite: %w", name, err)
	}
	d.vfs = libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(sqlite.Tsqlite3_vfs{})))
	v := atAddress[sqlite.Tsqlite3_vfs](d.vfs)
	*v = *d.inner
	v.FpNext, v.FzName = 0, zName
	v.FxOpen = cAddress(d, d.xOpen)
	v.FxDelete = cAddress(d, d.xDelete)
	v.FxAccess = cAddress(d, d.xAccess)
	if rc := sqlite.Xsqlite3_vfs_register(tls, d.vfs, 0); rc != sqlite.SQLITE_OK {
		return nil, fmt.Errorf("put a disk %q under SQLite: code %d", name, rc)
	}
	return d, nil
}

// Name returns the name under which SQLite knows the disk.
func (d *faultyDisk) Name() string { return d.name }

// Judge replaces the judge; nil allows every call.
func (d *faultyDisk) Judge(j diskJudge) {
	d.asking.Lock()
	defer d.asking.Unlock()
	d.judge = j
}

// Close unregisters the disk.
func (d *faultyDisk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open) > 0 {
		return fmt.Errorf("take the disk %q away: %d files are open", d.name, len(d.open))
	}
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite.Xsqlite3_vfs_unregister(tls, d.vfs)
	libc.Xfree(tls, atAddress[sqlite.Tsqlite3_vfs](d.vfs).FzName)
	libc.Xfree(tls, d.vfs)
	for _, ours := range d.tables {
		libc.Xfree(tls, ours)
	}
	return nil
}

// atAddress returns a pointer to the value at an address in C's memory.
func atAddress[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// cAddress returns an address at which C can call f. The disk keeps f alive, because Go's garbage
// collector does not see an address in C.
func cAddress[F any](d *faultyDisk, f F) uintptr {
	held := &f
	d.held = append(d.held, held)
	return *(*uintptr)(unsafe.Pointer(held))
}

func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// cFunction returns the function at an address.
func cFunction[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{p})) }
