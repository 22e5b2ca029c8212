package store

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A nameTree knows which names of a directory are on disk. Before each call it looks for changes
// that the last call has made, even if other code made that call.
type nameTree struct {
	dir   string
	kept  string // directory in which every file has a second name, so that no file is lost
	files int

	now  map[string]*diskNode   // what a process sees
	disk map[string]*diskNode   // what is certainly on disk
	late []map[string]*diskNode // later changes, one map per call; a nil node means that the name was removed
}

// A diskNode is a file, which may have several names or none.
type diskNode struct {
	inode uint64
	path  string     // path of the file's second name
	image *diskImage // nil means that all of the file is on disk
}

// Watch makes the disk track the names in dir from now on. The names that exist now count as on
// disk. The argument keepDir must be empty and on the same file system.
func (d *faultyDisk) Watch(dir, keepDir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tree, d.files = nil, map[string]*diskImage{}
	t := &nameTree{dir: dir, kept: keepDir, now: map[string]*diskNode{}}
	if _, err := t.record(); err != nil {
		return fmt.Errorf("watch the names in %q: %w", dir, err)
	}
	for _, n := range t.now {
		n.image = nil
	}
	d.tree = t
	t.markSynced()
	return nil
}

// record records the changes of the last call, and reports whether there were any.
func (t *nameTree) record() (bool, error) {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return false, err
	}
	before := map[uint64]*diskNode{}
	for _, n := range t.now {
		before[n.inode] = n
	}
	change, now := map[string]*diskNode{}, map[string]*diskNode{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || strings.HasSuffix(e.Name(), "-shm") {
			continue // the file is gone again, or it is an index that is made anew at every start
		}
		inode := info.Sys().(*syscall.Stat_t).Ino
		n := before[inode]
		if n == nil {
			if n, err = t.add(e.Name(), inode); err != nil {
				return false, err
			}
		}
		if now[e.Name()] = n; t.now[e.Name()] != n {
			change[e.Name()] = n
		}
	}
	for name := range t.now {
		if now[name] == nil {
			change[name] = nil
		}
	}
	if len(change) == 0 {
		return false, nil
	}
	t.now, t.late = now, append(t.late, change)
	return true, nil
}

// add adds a new file. No part of it is on disk.
func (t *nameTree) add(name string, inode uint64) (*diskNode, error) {
	t.files++
	n := &diskNode{inode: inode, path: filepath.Join(t.kept, fmt.Sprint(t.files)), image: newDiskImage(nil)}
	return n, os.Link(filepath.Join(t.dir, name), n.path)
}

// markSynced marks all names as on disk.
func (t *nameTree) markSynced() { t.disk, t.late = maps.Clone(t.now), nil }

// recordNames records the changes of the last call.
func (d *faultyDisk) recordNames() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tree == nil {
		return
	}
	changed, err := d.tree.record()
	if err != nil {
		panic(err) // cannot fail, because the directory is the test's own
	}
	if !changed {
		return
	}
	d.files = map[string]*diskImage{}
	for name, n := range d.tree.now {
		if n.image != nil {
			d.files[filepath.Join(d.tree.dir, name)] = n.image
		}
	}
}

// namesSynced marks all names in the directory as on disk.
func (d *faultyDisk) namesSynced(dir string) {
	d.recordNames()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tree != nil && d.tree.dir == dir {
		d.tree.markSynced()
	}
}

// Late returns the number of changes of names that may not be on disk.
func (d *faultyDisk) Late() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.tree.late)
}

// Cut copies the watched directory into an empty one, as a power cut would leave it. It calls
// nameOnDisk for each change of a name that may not be on disk, and sectorOnDisk for each sector
// that may not be on disk. Both return true if the change or sector is on disk. Sector -1 means the
// shorter length of a truncated file.
func (d *faultyDisk) Cut(to string, nameOnDisk func(change int) bool, sectorOnDisk func(sector int64) bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := maps.Clone(d.tree.disk)
	for i, change := range d.tree.late {
		if nameOnDisk(i) {
			maps.Copy(left, change)
		}
	}
	var errs []error
	for name, n := range left {
		if n != nil {
			errs = append(errs, os.WriteFile(filepath.Join(to, name), n.image.afterCut(contentOf(n.path), sectorOnDisk), 0o600))
		}
	}
	return errors.Join(errs...)
}
