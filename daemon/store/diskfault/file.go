package diskfault

import (
	"path/filepath"
	"unsafe"

	"modernc.org/libc"
	sqlite "modernc.org/sqlite/lib"
)

// header is how much of a file's memory is ours; the real file system's part
// comes after it.
const header = unsafe.Sizeof(sqlite.Tsqlite3_file{})

func innerOf(file uintptr) uintptr { return file + header }

// methods are those of the real file.
func methods(file uintptr) *sqlite.Tsqlite3_io_methods {
	return at[sqlite.Tsqlite3_io_methods](at[sqlite.Tsqlite3_file](innerOf(file)).FpMethods)
}

func (d *Disk) makeTable(tls *libc.TLS) {
	d.table = libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(sqlite.Tsqlite3_io_methods{})))
	*at[sqlite.Tsqlite3_io_methods](d.table) = sqlite.Tsqlite3_io_methods{
		FiVersion: 2, // without mapping the file itself
		FxClose:   function(d, d.xClose), FxRead: function(d, d.xRead), FxWrite: function(d, d.xWrite),
		FxTruncate: function(d, d.xTruncate), FxSync: function(d, d.xSync), FxFileSize: function(d, d.xFileSize),
		FxLock: function(d, d.xLock), FxUnlock: function(d, d.xUnlock),
		FxCheckReservedLock: function(d, d.xCheckReservedLock),
		FxFileControl:       function(d, d.xFileControl), FxSectorSize: function(d, d.xSectorSize),
		FxDeviceCharacteristics: function(d, d.xDeviceCharacteristics),
		FxShmMap:                function(d, d.xShmMap), FxShmLock: function(d, d.xShmLock),
		FxShmBarrier: function(d, d.xShmBarrier), FxShmUnmap: function(d, d.xShmUnmap),
	}
}

// fault asks the judge about a call on an open file.
func (d *Disk) fault(op Op, file uintptr, off int64, n int) Fault {
	return d.Ask(Call{Op: op, Path: d.pathOf(file), Off: off, N: n})
}

// Ask reports what is to become of a call that somebody makes beside SQLite.
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

// code is how a fault is reported: as EIO by the code of the operation.
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
	return call[func(*libc.TLS, uintptr) int32](methods(file).FxClose)(tls, innerOf(file))
}

// transfer is the form of a read and of a write.
type transfer = func(tls *libc.TLS, file, buf uintptr, n int32, off int64) int32

func (d *Disk) xRead(tls *libc.TLS, file, buf uintptr, n int32, off int64) int32 {
	if d.fault(Read, file, off, int(n)) != None {
		return sqlite.SQLITE_IOERR_READ
	}
	return call[transfer](methods(file).FxRead)(tls, innerOf(file), buf, n, off)
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
	rc := call[transfer](methods(file).FxWrite)(tls, innerOf(file), buf, part, off)
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
	return call[func(*libc.TLS, uintptr, int64) int32](methods(file).FxTruncate)(tls, innerOf(file), size)
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
	return call[func(*libc.TLS, uintptr, uintptr) int32](methods(file).FxFileSize)(tls, innerOf(file), size)
}

func (d *Disk) xLock(tls *libc.TLS, file uintptr, level int32) int32 {
	if d.fault(Lock, file, 0, 0) != None {
		return sqlite.SQLITE_IOERR_LOCK
	}
	return call[func(*libc.TLS, uintptr, int32) int32](methods(file).FxLock)(tls, innerOf(file), level)
}

func (d *Disk) xUnlock(tls *libc.TLS, file uintptr, level int32) int32 {
	return call[func(*libc.TLS, uintptr, int32) int32](methods(file).FxUnlock)(tls, innerOf(file), level)
}

func (d *Disk) xCheckReservedLock(tls *libc.TLS, file, out uintptr) int32 {
	return call[func(*libc.TLS, uintptr, uintptr) int32](methods(file).FxCheckReservedLock)(tls, innerOf(file), out)
}

func (d *Disk) xFileControl(tls *libc.TLS, file uintptr, op int32, arg uintptr) int32 {
	return call[func(*libc.TLS, uintptr, int32, uintptr) int32](methods(file).FxFileControl)(tls, innerOf(file), op, arg)
}

func (d *Disk) xSectorSize(tls *libc.TLS, file uintptr) int32 {
	return call[func(*libc.TLS, uintptr) int32](methods(file).FxSectorSize)(tls, innerOf(file))
}

func (d *Disk) xDeviceCharacteristics(tls *libc.TLS, file uintptr) int32 {
	return call[func(*libc.TLS, uintptr) int32](methods(file).FxDeviceCharacteristics)(tls, innerOf(file))
}

func (d *Disk) xShmMap(tls *libc.TLS, file uintptr, region, size, extend int32, out uintptr) int32 {
	if f := d.fault(Shm, file, int64(region)*int64(size), int(size)); f != None {
		return code(f, sqlite.SQLITE_IOERR_SHMMAP)
	}
	shmMap := call[func(*libc.TLS, uintptr, int32, int32, int32, uintptr) int32](methods(file).FxShmMap)
	return shmMap(tls, innerOf(file), region, size, extend, out)
}

func (d *Disk) xShmLock(tls *libc.TLS, file uintptr, offset, n, flags int32) int32 {
	if flags&sqlite.SQLITE_SHM_LOCK != 0 && d.fault(ShmLock, file, int64(offset), int(n)) != None {
		return sqlite.SQLITE_IOERR_SHMLOCK
	}
	shmLock := call[func(*libc.TLS, uintptr, int32, int32, int32) int32](methods(file).FxShmLock)
	return shmLock(tls, innerOf(file), offset, n, flags)
}

func (d *Disk) xShmBarrier(tls *libc.TLS, file uintptr) {
	call[func(*libc.TLS, uintptr)](methods(file).FxShmBarrier)(tls, innerOf(file))
}

func (d *Disk) xShmUnmap(tls *libc.TLS, file uintptr, remove int32) int32 {
	return call[func(*libc.TLS, uintptr, int32) int32](methods(file).FxShmUnmap)(tls, innerOf(file), remove)
}
