package diskfault

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// sector is the number of bytes that disks usually write atomically.
const sector = 512

// image is the part of a file that is on disk. Processes read the real file instead.
type image struct {
	disk  []byte
	stale map[int64]bool // sectors whose sync failed and that have not been written since
}

// This method returns the image of a file that is about to change. Its content before the first
// change counts as on disk. The caller must hold mu.
func (d *Disk) of(path string) *image {
	im := d.files[path]
	if im == nil {
		im = newImage(content(path))
		d.files[path] = im
		if d.tree != nil {
			if n := d.tree.now[filepath.Base(path)]; n != nil && filepath.Dir(path) == d.tree.dir {
				n.image = im
			}
		}
	}
	return im
}

func newImage(disk []byte) *image { return &image{disk: disk, stale: map[int64]bool{}} }

func content(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err) // cannot fail, because the directory is the test's own
	}
	return data
}

// This method records a write that is about to be made.
func (d *Disk) writing(path string, off, n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	im := d.of(path)
	for s := off / sector; s <= (off+n-1)/sector; s++ {
		delete(im.stale, s)
	}
}

// This method marks written sectors as on disk, or as lost if the sync failed.
func (d *Disk) synced(path string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	im := d.of(path)
	now := content(path)
	if !ok {
		for s := int64(0); s*sector < int64(len(now)); s++ {
			if !bytes.Equal(part(now, s), part(im.disk, s)) {
				im.stale[s] = true
			}
		}
		return
	}
	disk := bytes.Clone(now)
	for s := range im.stale {
		clear(part(disk, s))
		copy(part(disk, s), part(im.disk, s))
	}
	im.disk = disk
}

// part returns a sector of a file. The last sector may be shorter.
func part(file []byte, s int64) []byte {
	from, to := min(s*sector, int64(len(file))), min((s+1)*sector, int64(len(file)))
	return file[from:to]
}

// This method returns what a power cut leaves of a file. The argument now is the content that
// processes see. The function reached gets every sector that may not be on disk, and reports
// whether it is. The sector -1 means the shorter length of a truncated file. A nil image means that
// all of the file is on disk.
func (im *image) after(now []byte, reached func(sector int64) bool) []byte {
	if im == nil {
		return now
	}
	left := bytes.Clone(im.disk)
	if len(now) < len(left) && reached(-1) {
		left = left[:len(now)]
	}
	for s := int64(0); s*sector < int64(len(now)); s++ {
		was, is := part(im.disk, s), part(now, s)
		if bytes.Equal(was, is) || !reached(s) {
			continue
		}
		if end := s*sector + int64(len(is)); int64(len(left)) < end {
			left = append(left, make([]byte, end-int64(len(left)))...)
		}
		copy(part(left, s), is)
	}
	return left
}
