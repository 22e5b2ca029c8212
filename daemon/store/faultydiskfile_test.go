package store

import (
	"maps"
	"path/filepath"
	"slices"
	"unsafe"

	"modernc.org/libc"
	sqlite "modernc.org/sqlite/lib"
)

// fileMethods has the disk's own methods of a file, and the address of the real methods. It is in C's
// memory, because SQLite reads it by its address.
type fileMethods struct {
	sqlite.Tsqlite3_io_methods
	real uintptr
}

// realMethods returns the methods of the real file.
func realMethods(file uintptr) *sqlite.Tsqlite3_io_methods {
	return atAddress[sqlite.Tsqlite3_io_methods](atAddress[fileMethods](atAddress[sqlite.Tsqlite3_file](file).FpMethods).real)
}

// cover replaces the methods of an open file with methods that call the judge first. The file's
// kind of lock decides which real methods the file has. The caller must hold mu.
func (d *faultyDisk) cover(tls *libc.TLS, file *sqlite.Tsqlite3_file) {
	ours, real := d.tables[file.FpMethods], file.FpMethods
	if ours == 0 {
		ours = libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(fileMethods{})))
		d.tables[real] = ours
		t := atAddress[fileMethods](ours)
		*t = fileMethods{*atAddress[sqlite.Tsqlite3_io_methods](real), real}
		t.FiVersion = 2 // version 2 lacks the methods that map the file itself
		t.FxClose = cAddress(d, d.xClose)
		t.FxRead = cAddress(d, d.xRead)
		t.FxWrite = cAddress(d, d.xWrite)
		t.FxTruncate = cAddress(d, d.xTruncate)
		t.FxSync = cAddress(d, d.xSync)
		t.FxFileSize = cAddress(d, d.xFileSize)
		t.FxLock = cAddress(d, d.xLock)
		t.FxShmMap = cAddress(d, d.xShmMap)
		t.FxShmLock = cAddress(d, d.xShmLock)
	}
	file.FpMethods = ours
}

// fault asks the judge about a call on an open file.
func (d *faultyDisk) fault(op diskOp, file uintptr, off int64, n int) diskFault {
	return d.Ask(diskCall{Op: op, Path: d.pathOf(file), Off: off, N: n})
}

// Ask asks the judge about a call that code other than SQLite makes, and returns the fault.
func (d *faultyDisk) Ask(c diskCall) diskFault {
	d.asking.Lock()
	defer d.asking.Unlock()
	d.recordNames()
	f := noFault
	if d.judge != nil {
		f = d.judge(c)
	}
	switch {
	case c.Op == opSyncFile && f != faultUnsynced:
		d.markSynced(c.Path, f == noFault)
	case c.Op == opSyncNames && f == noFault:
		d.namesSynced(c.Path)
	case c.Op == opSyncDisk && f != faultUnsynced:
		d.mu.Lock()
		paths := slices.Collect(maps.Keys(d.files))
		d.mu.Unlock()
		for _, path := range paths {
			d.markSynced(path, f == noFault)
		}
		if f == noFault {
			d.namesSynced(c.Path)
		}
	}
	return f
}

func (d *faultyDisk) pathOf(file uintptr) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[file]
}

// faultCode returns the result code for a fault. The argument eio is the operation's code for EIO.
func faultCode(f diskFault, eio int32) int32 {
	if f == faultFull {
		return sqlite.SQLITE_FULL
	}
	return eio
}

func (d *faultyDisk) xClose(tls *libc.TLS, file uintptr) int32 {
	d.mu.Lock()
	delete(d.open, file)
	delete(d.fresh, file)
	d.mu.Unlock()
	return cFunction[func(*libc.TLS, uintptr) int32](realMethods(file).FxClose)(tls, file)
}

// transfer is the type of reads and writes.
type transfer = func(tls *libc.TLS, file, buf uintptr, n int32, off int64) int32

func (d *faultyDisk) xRead(tls *libc.TLS, file, buf uintptr, n int32, off int64) int32 {
	if d.fault(opRead, file, off, int(n)) != noFault {
		return sqlite.SQLITE_IOERR_READ
	}
	return cFunction[transfer](realMethods(file).FxRead)(tls, file, buf, n, off)
}

func (d *faultyDisk) xWrite(tls *libc.TLS, file, buf uintptr, n int32, off int64) int32 {
	f := d.fault(opWrite, file, off, int(n))
	if f == faultIO {
		return sqlite.SQLITE_IOERR_WRITE
	}
	part := n
	if f != noFault {
		part = n / 2
	}
	d.markWrite(d.pathOf(file), off, int64(part))
	rc := cFunction[transfer](realMethods(file).FxWrite)(tls, file, buf, part, off)
	if rc == sqlite.SQLITE_OK && f != noFault {
		return faultCode(f, sqlite.SQLITE_IOERR_WRITE)
	}
	return rc
}

func (d *faultyDisk) xTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	if f := d.fault(opTruncate, file, size, 0); f != noFault {
		return faultCode(f, sqlite.SQLITE_IOERR_TRUNCATE)
	}
	d.markWrite(d.pathOf(file), size, 0)
	return cFunction[func(*libc.TLS, uintptr, int64) int32](realMethods(file).FxTruncate)(tls, file, size)
}

func (d *faultyDisk) xSync(_ *libc.TLS, file uintptr, _ int32) int32 {
	f := d.fault(opSync, file, 0, 0)
	if f == faultUnsynced {
		return sqlite.SQLITE_OK
	}
	path := d.pathOf(file)
	d.markSynced(path, f == noFault)
	if f != noFault {
		return faultCode(f, sqlite.SQLITE_IOERR_FSYNC)
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

func (d *faultyDisk) xFileSize(tls *libc.TLS, file, size uintptr) int32 {
	if d.fault(opSize, file, 0, 0) != noFault {
		return sqlite.SQLITE_IOERR_FSTAT
	}
	return cFunction[func(*libc.TLS, uintptr, uintptr) int32](realMethods(file).FxFileSize)(tls, file, size)
}

func (d *faultyDisk) xLock(tls *libc.TLS, file uintptr, level int32) int32 {
	if d.fault(opLock, file, 0, 0) != noFault {
		return sqlite.SQLITE_IOERR_LOCK
	}
	return cFunction[func(*libc.TLS, uintptr, int32) int32](realMethods(file).FxLock)(tls, file, level)
}

func (d *faultyDisk) xShmMap(tls *libc.TLS, file uintptr, region, size, extend int32, out uintptr) int32 {
	if f := d.fault(opShm, file, int64(region)*int64(size), int(size)); f != noFault {
		return faultCode(f, sqlite.SQLITE_IOERR_SHMMAP)
	}
	shmMap := cFunction[func(*libc.TLS, uintptr, int32, int32, int32, uintptr) int32](realMethods(file).FxShmMap)
	return shmMap(tls, file, region, size, extend, out)
}

func (d *faultyDisk) xShmLock(tls *libc.TLS, file uintptr, offset, n, flags int32) int32 {
	if flags&sqlite.SQLITE_SHM_LOCK != 0 && d.fault(opShmLock, file, int64(offset), int(n)) != noFault {
		return sqlite.SQLITE_IOERR_SHMLOCK
	}
	shmLock := cFunction[func(*libc.TLS, uintptr, int32, int32, int32) int32](realMethods(file).FxShmLock)
	return shmLock(tls, file, offset, n, flags)
}
