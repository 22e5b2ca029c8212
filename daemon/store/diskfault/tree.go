package diskfault

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// tree is what of the names in one directory is on the disk. It learns from looking
// before each call what the one before has changed, whoever made it.
type tree struct {
	dir   string
	kept  string // a directory with a second name of every file, so that none is gone
	files int

	now  map[string]*node   // what a process sees
	disk map[string]*node   // what is there for certain
	late []map[string]*node // what has changed since, call by call; nil: the name is gone
}

// node is a file, whatever its names are.
type node struct {
	inode uint64
	path  string // of its second name
	image *image // nil: all of it is on the disk
}

// Watch has the disk know the names in dir too, from now on, with what is there on
// the disk. The directory kept must be on the same file system, and empty.
func (d *Disk) Watch(dir, kept string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tree, d.files = nil, map[string]*image{}
	t := &tree{dir: dir, kept: kept, now: map[string]*node{}}
	if _, err := t.look(); err != nil {
		return fmt.Errorf("watch the names in %q: %w", dir, err)
	}
	for _, n := range t.now {
		n.image = nil
	}
	d.tree = t
	t.synced()
	return nil
}

// look takes in what the last call has changed, and reports whether it was anything.
func (t *tree) look() (bool, error) {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return false, err
	}
	before := map[uint64]*node{}
	for _, n := range t.now {
		before[n.inode] = n
	}
	change, now := map[string]*node{}, map[string]*node{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || strings.HasSuffix(e.Name(), "-shm") {
			continue // gone again, or made anew at every start
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

// add takes in a new file, of which nothing is on the disk.
func (t *tree) add(name string, inode uint64) (*node, error) {
	t.files++
	n := &node{inode: inode, path: filepath.Join(t.kept, fmt.Sprint(t.files)), image: newImage(nil)}
	return n, os.Link(filepath.Join(t.dir, name), n.path)
}

// synced brings all names to the disk.
func (t *tree) synced() { t.disk, t.late = maps.Clone(t.now), nil }

// look takes in what the last call has changed.
func (d *Disk) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tree == nil {
		return
	}
	changed, err := d.tree.look()
	if err != nil {
		panic(err) // of a directory of the test's own
	}
	if !changed {
		return
	}
	d.files = map[string]*image{}
	for name, n := range d.tree.now {
		if n.image != nil {
			d.files[filepath.Join(d.tree.dir, name)] = n.image
		}
	}
}

// namesSynced brings the names in the directory of path to the disk.
func (d *Disk) namesSynced(dir string) {
	d.look()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tree != nil && d.tree.dir == dir {
		d.tree.synced()
	}
}

// Late is how many changes of names are not on the disk for certain.
func (d *Disk) Late() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.tree.late)
}

// Cut puts into an empty directory what of the watched one is left when the power
// goes now. Of each of the late changes of names changed reports whether it got to the
// disk, and reached of each sector that is not there for certain; -1 is the shorter
// length of a file that was cut.
func (d *Disk) Cut(to string, changed func(change int) bool, reached func(sector int64) bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := maps.Clone(d.tree.disk)
	for i, change := range d.tree.late {
		if changed(i) {
			maps.Copy(left, change)
		}
	}
	var errs []error
	for name, n := range left {
		if n != nil {
			errs = append(errs, os.WriteFile(filepath.Join(to, name), n.image.after(content(n.path), reached), 0o600))
		}
	}
	return errors.Join(errs...)
}
