package store

import (
	"path/filepath"

	"modernc.org/libc"
	sqlite "modernc.org/sqlite/lib"
)

// xOpen opens the real file and replaces its methods with the disk's own.
func (d *faultyDisk) xOpen(tls *libc.TLS, _ uintptr, zPath, file uintptr, flags int32, out uintptr) int32 {
	own := atAddress[sqlite.Tsqlite3_file](file)
	own.FpMethods = 0 // after an error there is nothing to close
	path := libc.GoString(zPath)
	if f := d.Ask(diskCall{Op: opOpen, Path: path}); f != noFault {
		return faultCode(f, sqlite.SQLITE_CANTOPEN)
	}
	open := cFunction[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](d.inner.FxOpen)
	rc := open(tls, address(d.inner), zPath, file, flags, out)
	if own.FpMethods == 0 {
		return rc
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cover(tls, own)
	d.open[file] = path
	isLog := flags&(sqlite.SQLITE_OPEN_WAL|sqlite.SQLITE_OPEN_MAIN_JOURNAL) != 0
	d.fresh[file] = isLog && flags&sqlite.SQLITE_OPEN_CREATE != 0
	return rc
}

func (d *faultyDisk) xDelete(tls *libc.TLS, _ uintptr, zPath uintptr, syncDir int32) int32 {
	path := libc.GoString(zPath)
	if f := d.Ask(diskCall{Op: opDelete, Path: path}); f != noFault {
		return faultCode(f, sqlite.SQLITE_IOERR_DELETE)
	}
	d.mu.Lock()
	delete(d.files, path)
	d.mu.Unlock()
	rc := cFunction[func(*libc.TLS, uintptr, uintptr, int32) int32](d.inner.FxDelete)(tls, address(d.inner), zPath, syncDir)
	if rc == sqlite.SQLITE_OK && syncDir != 0 {
		d.namesSynced(filepath.Dir(path))
	}
	return rc
}

func (d *faultyDisk) xAccess(tls *libc.TLS, _ uintptr, zPath uintptr, flags int32, out uintptr) int32 {
	if d.Ask(diskCall{Op: opAccess, Path: libc.GoString(zPath)}) != noFault {
		return sqlite.SQLITE_IOERR_ACCESS
	}
	access := cFunction[func(*libc.TLS, uintptr, uintptr, int32, uintptr) int32](d.inner.FxAccess)
	return access(tls, address(d.inner), zPath, flags, out)
}
