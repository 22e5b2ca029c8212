package jobenv

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// These are limits for what a snapshot copies. At stopCounting files, a directory is so large that
// nobody wants to wait for its size.
const (
	maxSnapshotBytes = 1 << 30
	maxSnapshotFiles = 200_000
	stopCounting     = 1_000_000
)

// A copying makes a snapshot.
type copying struct {
	ctx      context.Context
	a        *cli.App
	snapshot contract.Snapshot
	from, to string
}

// TakeSnapshot copies a directory. If the directory is the top of a git work tree, the copy has the
// files that git knows or would add. It has links to those that git ignores, so that data are found
// and results outlive the copy.
func TakeSnapshot(ctx context.Context, a *cli.App, source string) (s *contract.Snapshot, err error) {
	c := &copying{ctx: ctx, a: a, snapshot: contract.Snapshot{Source: source}, from: source}
	top, err := gitTop(ctx, a, source)
	if err == nil {
		err = c.make(top == source)
	}
	if err == nil {
		return &c.snapshot, nil
	}
	if c.snapshot.Dir != "" {
		os.RemoveAll(c.snapshot.Dir)
	}
	var refused *api.Error
	if errors.As(err, &refused) || ctx.Err() != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	return nil, cli.Refuse(api.CodeUsage, "no job is queued; what git ignores is not copied, and --snapshot=DIR copies another directory",
		"no snapshot of %q: %v", source, err)
}

// make lists the files, makes the snapshot's directory and fills it.
func (c *copying) make(inGit bool) (err error) {
	files, ignored := []string{"."}, []string(nil)
	if inGit {
		files, err = c.gitList("ls-files", "-z", "--cached", "--others", "--exclude-standard")
		if err == nil {
			ignored, err = c.gitList("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
		}
	}
	if err == nil {
		files, err = c.measure(files)
	}
	if err != nil {
		return err
	}
	root := SnapshotsDir(c.a)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	if c.snapshot.Dir, err = os.MkdirTemp(root, c.a.Out.Now.Format("20060102-150405-")); err != nil {
		return err
	}
	return c.fill(files, ignored, inGit)
}

// fill makes the copy in the snapshot's new directory.
func (c *copying) fill(files, ignored []string, inGit bool) error {
	c.to = c.snapshot.Tree()
	err := os.Mkdir(c.to, 0o700)
	for i := 0; i < len(files) && err == nil; i++ {
		err = cmp.Or(c.ctx.Err(), c.add(files[i]))
	}
	if err == nil && inGit {
		err = c.describe()
	}
	for i := 0; i < len(ignored) && err == nil; i++ {
		name := filepath.Clean(ignored[i])
		if filepath.Base(name) == "__pycache__" { // Python makes it anew
			continue
		}
		err = c.place(name, func(to string) error { return os.Symlink(filepath.Join(c.from, name), to) })
	}
	if err != nil {
		return err
	}
	made, err := os.Create(filepath.Join(c.snapshot.Dir, contract.SnapshotMade))
	if err != nil {
		return err
	}
	// After a crash of the machine the job still waits, and must not find empty files.
	return errors.Join(unix.Syncfs(int(made.Fd())), made.Close())
}

// measure replaces directories by what is in them. It refuses files that are too large altogether.
func (c *copying) measure(names []string) (files []string, err error) {
	size := int64(0)
	add := func(name string, info fs.FileInfo) {
		files = append(files, name)
		if info.Mode().IsRegular() {
			size += info.Size()
		}
	}
	for _, name := range names {
		top := filepath.Join(c.from, name)
		err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
			switch {
			case gone(err):
				return nil
			case err != nil || c.ctx.Err() != nil || len(files) >= stopCounting:
				return cmp.Or(c.ctx.Err(), err, fs.SkipAll)
			case path == SnapshotsDir(c.a), path == filepath.Join(top, ".git") && name != ".": // of submodules
				return cmp.Or(skipIfDir(e), nil)
			}
			info, err := e.Info()
			if rel, ok := Below(c.from, path); ok && err == nil {
				add(rel, info)
			}
			return notGone(err)
		})
		if err != nil {
			return nil, err
		}
	}
	if size > maxSnapshotBytes || len(files) > maxSnapshotFiles {
		return nil, cli.Refuse(api.CodeUsage, "no job is queued; name the directory of the code with --snapshot=DIR, "+
			"or list the data in .gitignore of a git repository: the copy has links to what git ignores",
			"%q has %s and %s, and a snapshot may have %s and %d files",
			c.from, job.FormatSize(size), cli.Count(len(files), "file"), job.FormatSize(maxSnapshotBytes), maxSnapshotFiles)
	}
	return files, nil
}

func skipIfDir(e fs.DirEntry) error {
	if e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// gone reports whether an error says that a file was deleted or replaced since it was listed.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

func notGone(err error) error {
	if gone(err) {
		return nil
	}
	return err
}

// add copies one file, link or directory. It leaves out sockets, devices and named pipes.
func (c *copying) add(name string) error {
	from := filepath.Join(c.from, name)
	info, err := os.Lstat(from)
	if err != nil {
		return notGone(err)
	}
	return c.place(name, func(to string) error {
		switch info.Mode().Type() {
		case fs.ModeDir:
			return os.Mkdir(to, 0o700|info.Mode().Perm())
		case fs.ModeSymlink:
			return c.copyLink(from, to)
		case 0:
			return copyFile(from, to, info)
		}
		return nil
	})
}

// place calls put for a place in the copy, and makes the directories above it. Something that is
// already there stays: git can list a file twice.
func (c *copying) place(name string, put func(to string) error) error {
	to := filepath.Join(c.to, name)
	err := os.MkdirAll(filepath.Dir(to), 0o700)
	if err == nil {
		err = put(to)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// copyLink copies a link. If the link leads out of the tree, the copy has an absolute path.
func (c *copying) copyLink(from, to string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return notGone(err)
	}
	if full := filepath.Join(filepath.Dir(from), target); !filepath.IsAbs(target) {
		if _, in := Below(c.from, full); !in {
			target = full
		}
	}
	return os.Symlink(target, to)
}

// copyFile copies a file with its permissions and time. Where the file system can share blocks,
// the kernel shares them.
func copyFile(from, to string, info fs.FileInfo) error {
	in, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return notGone(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, info.Size())) // a log may grow meanwhile
	return errors.Join(err, out.Chmod(info.Mode().Perm()), out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}

// describe records the commit and what differs from it. It makes the copy a git work tree of its
// own that the repository does not list: nothing in the repository changes.
func (c *copying) describe() error {
	commit, err := c.git("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if len(commit) == 0 || err != nil {
		return nil // the repository has no commit yet
	}
	c.snapshot.Commit = strings.TrimSpace(string(commit))
	changed, err := c.gitList("status", "-z", "--porcelain", "--no-renames", "--untracked-files=all")
	if err != nil {
		return err
	}
	if c.snapshot.Changed = len(changed); len(changed) > 0 {
		if c.snapshot.Diff, err = c.hash(changed); err != nil {
			return err
		}
	}
	paths, err := c.git("rev-parse", "--path-format=absolute", "--git-common-dir", "--git-path", "index")
	common, index, _ := strings.Cut(strings.TrimSuffix(string(paths), "\n"), "\n")
	if err != nil {
		return err
	}
	own := filepath.Join(c.snapshot.Dir, contract.SnapshotRepository)
	err = os.Mkdir(own, 0o700)
	for name, text := range map[string]string{
		filepath.Join(own, "HEAD"): c.snapshot.Commit, filepath.Join(own, "commondir"): common, filepath.Join(c.to, ".git"): "gitdir: " + own,
	} {
		err = cmp.Or(err, os.WriteFile(name, []byte(text+"\n"), 0o600))
	}
	if info, noIndex := os.Stat(index); noIndex == nil && err == nil {
		err = copyFile(index, filepath.Join(own, "index"), info)
	}
	return err
}

// hash returns a hash of changed files, as they are in the copy.
func (c *copying) hash(changed []string) (string, error) {
	slices.Sort(changed)
	h := sha256.New()
	for _, entry := range changed { // such as " M train.py"
		err := filepath.WalkDir(filepath.Join(c.to, entry[3:]), func(path string, e fs.DirEntry, err error) error {
			rel, _ := Below(c.to, path)
			if err != nil || !e.Type().IsRegular() {
				target, _ := os.Readlink(path)
				fmt.Fprintf(h, "%q %q\n", rel, target)
				return notGone(err)
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			info, err := f.Stat()
			fmt.Fprintf(h, "%q %o %d\n", rel, info.Mode().Perm()&0o100, info.Size())
			_, copied := io.Copy(h, f)
			return errors.Join(err, copied)
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// gitTop returns the top of the git work tree that contains a directory, without symbolic links. It
// returns "" if there is none or git is not installed.
func gitTop(ctx context.Context, a *cli.App, dir string) (string, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return "", nil
	}
	out, err := (&copying{ctx: ctx, a: a, from: dir}).git("rev-parse", "--show-toplevel")
	if err != nil {
		for _, none := range []string{"not a git repository", "must be run in a work tree"} {
			if strings.Contains(err.Error(), none) {
				return "", nil
			}
		}
		return "", err
	}
	return filepath.EvalSymlinks(strings.TrimSuffix(string(out), "\n"))
}

// gitList runs git and returns the texts that it prints, each ended by NUL.
func (c *copying) gitList(words ...string) ([]string, error) {
	out, err := c.git(words...)
	list := strings.Split(string(out), "\x00")
	return list[:len(list)-1], err
}

// git runs git in the directory that is copied. It changes nothing there, and runs neither a hook
// nor a file system monitor.
func (c *copying) git(words ...string) ([]byte, error) {
	options := []string{"-C", c.from, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"}
	cmd := exec.CommandContext(c.ctx, "git", append(options, words...)...)
	ofAnother := func(v string) bool { return strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "GIT_CONFIG") }
	cmd.Env = append(slices.DeleteFunc(slices.Clone(c.a.Environ), ofAnother), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil && said.Len() > 0 {
		line, _, _ := strings.Cut(said.String(), "\n")
		err = cli.Refuse(api.CodeUsage, "no job is queued; 'git status' there says more", "no snapshot of %q: git says: %s", c.from, strings.TrimPrefix(line, "fatal: "))
	}
	return out, err
}
