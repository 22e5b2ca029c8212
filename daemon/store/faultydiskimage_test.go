package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// sector is the number of bytes that disks usually write atomically.
const sector = 512

// A diskImage is the part of a file that is on disk. Processes read the real file instead.
type diskImage struct {
	disk  []byte
	stale map[int64]bool // sectors whose sync failed and that have not been written since
}

// imageFor returns the image of a file that is about to change. Its content before the first change
// counts as on disk. The caller must hold mu.
func (d *faultyDisk) imageFor(path string) *diskImage {
	im := d.files[path]
	if im == nil {
		im = newDiskImage(contentOf(path))
		d.files[path] = im
		if d.tree != nil {
			if n := d.tree.now[filepath.Base(path)]; n != nil && filepath.Dir(path) == d.tree.dir {
				n.image = im
			}
		}
	}
	return im
}

func newDiskImage(disk []byte) *diskImage { return &diskImage{disk: disk, stale: map[int64]bool{}} }

func contentOf(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err) // cannot fail, because the directory is the test's own
	}
	return data
}

// markWrite records a write that is about to be made.
func (d *faultyDisk) markWrite(path string, off, n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	im := d.imageFor(path)
	for s := off / sector; s <= (off+n-1)/sector; s++ {
		delete(im.stale, s)
	}
}

// markSynced marks written sectors as on disk, or as lost if the sync failed.
func (d *faultyDisk) markSynced(path string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	im := d.imageFor(path)
	now := contentOf(path)
	if !ok {
		for s := int64(0); s*sector < int64(len(now)); s++ {
			if !bytes.Equal(sectorOf(now, s), sectorOf(im.disk, s)) {
				im.stale[s] = true
			}
		}
		return
	}
	disk := bytes.Clone(now)
	for s := range im.stale {
		clear(sectorOf(disk, s))
		copy(sectorOf(disk, s), sectorOf(im.disk, s))
	}
	im.disk = disk
}

// sectorOf returns a sector of a file. The last sector may be shorter.
func sectorOf(file []byte, s int64) []byte {
	from, to := min(s*sector, int64(len(file))), min((s+1)*sector, int64(len(file)))
	return file[from:to]
}

// afterCut returns what a power cut leaves of a file. The argument current is the content that
// processes see. The function onDisk is called for every sector that may not be on disk, and
// reports whether the sector is on disk. For sector -1 it reports whether the shorter length of a
// truncated file is on disk. A nil image means that all of the file is on disk.
func (im *diskImage) afterCut(current []byte, onDisk func(sector int64) bool) []byte {
	if im == nil {
		return current
	}
	left := bytes.Clone(im.disk)
	if len(current) < len(left) && onDisk(-1) {
		left = left[:len(current)]
	}
	for s := int64(0); s*sector < int64(len(current)); s++ {
		was, is := sectorOf(im.disk, s), sectorOf(current, s)
		if bytes.Equal(was, is) || !onDisk(s) {
			continue
		}
		if end := s*sector + int64(len(is)); int64(len(left)) < end {
			left = append(left, make([]byte, end-int64(len(left)))...)
		}
		copy(sectorOf(left, s), is)
	}
	return left
}
