package diskfault

import (
	"path/filepath"
	"unsafe"

	"modernc.org/libc"
	sqlite "modernc.org/sqlite/lib"
)

// table has the disk's own methods of a file, and the address of the real methods. It is in C's
// memory, because SQLite reads it by its address.
type table struct {
	sqlite.Tsqlite3_io_methods
	real uintptr
}

// methods returns the methods of the real file.
func methods(file uintptr) *sqlite.Tsqlite3_io_methods {
	return at[sqlite.Tsqlite3_io_methods](at[table](at[sqlite.Tsqlite3_file](file).FpMethods).real)
}

// cover replaces the methods of an open file by methods that call the judge first. The file's kind
// of lock decides which real methods it has. The caller must hold mu.
func (d *Disk) cover(tls *libc.TLS, file *sqlite.Tsqlite3_file) {
	ours, real := d.tables[file.FpMethods], file.FpMethods
	if ours == 0 {
		ours = libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(table{})))
		d.tables[real] = ours
		t := at[table](ours)
		*t = table{*at[sqlite.Tsqlite3_io_methods](real), real}
		t.FiVersion = 2 // version 2 lacks the methods that map the file itself
		t.FxClose = function(d, d.xClose)
		t.FxRead = function(d, d.xRead)
		t.FxWrite = function(d, d.xWrite)
		t.FxTruncate = function(d, d.xTruncate)
		t.FxSync = function(d, d.xSync)
		t.FxFileSize = function(d, d.xFileSize)
		t.FxLock = function(d, d.xLock)
		t.FxShmMap = function(d, d.xShmMap)
		t.FxShmLock = function(d, d.xShmLock)
	}
	file.FpMethods = ours
}

// fault asks the judge about a call on an open file.
func (d *Disk) fault(op Op, file uintptr, off int64, n int) Fault {
	return d.Ask(Call{Op: op, Path: d.pathOf(file), Off: off, N: n})
}

// Ask asks the judge about a call that code other than SQLite makes, and returns the fault.
func (d *Disk) Ask(c Call) Fault {
	d.asking.Lock()
	defer d.asking.Unlock()
	d.look()
	f := None
	if d.judge != nil {
		f = d.judge(c)
	}
	switch {
	case c.Op == SyncFile:
		d.synced(c.Path, f == None)
	case c.Op == SyncNames && f == None:
		d.namesSynced(c.Path)
	}
	return f
}

func (d *Disk) pathOf(file uintptr) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[file]
}

// code returns the result code for a fault. eio is the operation's code for EIO.
func code(f Fault, eio int32) int32 {
	if f == Full {
		return sqlite.SQLITE_FULL
	}
	return eio
}

func (d *Disk) xClose(tls *libc.TLS, file uintptr) int32 {
	d.mu.Lock()
	delete(d.open, file)
	delete(d.fresh, file)
	d.mu.Unlock()
	return call[func(*libc.TLS, uintptr) int32](methods(file).FxClose)(tls, file)
}

// transfer is the type of reads and writes.
type transfer = func(tls *libc.TLS, file, buf uintptr, n int32, off int64) int32

func (d *Disk) xRead(tls *libc.TLS, file, buf uintptr, n int32, off int64) int32 {
	if d.fault(Read, file, off, int(n)) != None {
		return sqlite.SQLITE_IOERR_READ
	}
	return call[transfer](methods(file).FxRead)(tls, file, buf, n, off)
}

func (d *Disk) xWrite(tls *libc.TLS, file, buf uintptr, n int32, off int64) int32 {
	f := d.fault(Write, file, off, int(n))
	if f == IOErr {
		return sqlite.SQLITE_IOERR_WRITE
	}
	part := n
	if f != None {
		part = n / 2
	}
	d.writing(d.pathOf(file), off, int64(part))
	rc := call[transfer](methods(file).FxWrite)(tls, file, buf, part, off)
	if rc == sqlite.SQLITE_OK && f != None {
		return code(f, sqlite.SQLITE_IOERR_WRITE)
	}
	return rc
}

func (d *Disk) xTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	if f := d.fault(Truncate, file, size, 0); f != None {
		return code(f, sqlite.SQLITE_IOERR_TRUNCATE)
	}
	d.writing(d.pathOf(file), size, 0)
	return call[func(*libc.TLS, uintptr, int64) int32](methods(file).FxTruncate)(tls, file, size)
}

func (d *Disk) xSync(_ *libc.TLS, file uintptr, _ int32) int32 {
	f := d.fault(Sync, file, 0, 0)
	path := d.pathOf(file)
	d.synced(path, f == None)
	if f != None {
		return code(f, sqlite.SQLITE_IOERR_FSYNC)
	}
	d.mu.Lock()
	first := d.fresh[file]
	delete(d.fresh, file)
	d.mu.Unlock()
	if first {
		d.namesSynced(filepath.Dir(path))
	}
	return sqlite.SQLITE_OK
}

func (d *Disk) xFileSize(tls *libc.TLS, file, size uintptr) int32 {
	if d.fault(Size, file, 0, 0) != None {
		return sqlite.SQLITE_IOERR_FSTAT
	}
	return call[func(*libc.TLS, uintptr, uintptr) int32](methods(file).FxFileSize)(tls, file, size)
}

func (d *Disk) xLock(tls *libc.TLS, file uintptr, level int32) int32 {
	if d.fault(Lock, file, 0, 0) != None {
		return sqlite.SQLITE_IOERR_LOCK
	}
	return call[func(*libc.TLS, uintptr, int32) int32](methods(file).FxLock)(tls, file, level)
}

func (d *Disk) xShmMap(tls *libc.TLS, file uintptr, region, size, extend int32, out uintptr) int32 {
	if f := d.fault(Shm, file, int64(region)*int64(size), int(size)); f != None {
		return code(f, sqlite.SQLITE_IOERR_SHMMAP)
	}
	shmMap := call[func(*libc.TLS, uintptr, int32, int32, int32, uintptr) int32](methods(file).FxShmMap)
	return shmMap(tls, file, region, size, extend, out)
}

func (d *Disk) xShmLock(tls *libc.TLS, file uintptr, offset, n, flags int32) int32 {
	if flags&sqlite.SQLITE_SHM_LOCK != 0 && d.fault(ShmLock, file, int64(offset), int(n)) != None {
		return sqlite.SQLITE_IOERR_SHMLOCK
	}
	shmLock := call[func(*libc.TLS, uintptr, int32, int32, int32) int32](methods(file).FxShmLock)
	return shmLock(tls, file, offset, n, flags)
}
