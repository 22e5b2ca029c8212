package gres

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/config"
)

// Found is what is known about Slurm on a machine.
type Found struct {
	Claim
	Conf    string // path such as /etc/slurm/gres.conf; "" if there are no files in /etc
	Runs    bool   // slurmd runs here or is enabled
	Error   error  // why the claim may be outdated or empty
	Assumed bool   // slurmd runs with unknown GPUs, so the claim is every GPU
}

// Describe returns sentences about the claimed GPUs. The argument allowed is true if jobs of this
// scheduler may use these GPUs too.
func (f Found) Describe(allowed bool) string {
	switch {
	case f.None():
		return "slurmd is enabled or runs here, and manages no GPU according to " + f.conf()
	case f.Assumed && allowed:
		return "slurmd runs here, its GPUs can't be read, and jobs of this scheduler may use every GPU (gpus.slurm = \"allow\"): both may use the same one"
	case f.Assumed:
		return "slurmd runs here, and its GPUs can't be read, so every GPU may be its own: no job is placed on any, and running jobs go on. " +
			"Make its files readable, or set gpus.slurm = \"allow\" (and, in gpus.only, the GPUs that are not Slurm's)"
	case allowed:
		return "Slurm has " + f.Claim.String() + " (" + f.conf() + "), and jobs of this scheduler may use them as well (gpus.slurm = \"allow\"): both may use the same one"
	}
	return "Slurm has " + f.Claim.String() + " (" + f.conf() + "): no job is placed there, and running jobs go on. " +
		"To get a GPU back, take it out of that file and restart slurmd; gpus.slurm = \"allow\" lets both use it"
}

func (f Found) conf() string {
	if f.Conf == "" {
		return "its gres.conf"
	}
	return f.Conf
}

// A Reader reads Slurm's files again and again. The zero value reads the files of this machine.
// Only one goroutine at a time may use it.
type Reader struct {
	Root    string            // the machine's root directory; "" means /
	Host    string            // the machine's name
	Own     config.OwnerCheck // checks the owners of files, directories and links; nil accepts only root
	last    reading           // texts from which the field claim was made
	claim   Claim
	known   bool         // all files could be read
	assumed bool         // slurmd ran without a known claim, and its files still can't be read
	pending chan reading // gets the result of the read in progress
}

// readTimeout limits the time of a read: a hanging file server must not block the daemon.
const readTimeout = 2 * time.Second

// dirs are the possible names of Slurm's directory below /etc. The name depends on Slurm's package.
var dirs = []string{"slurm", "slurm-llnl"}

// Read reads the files if they have changed. If they can't be read, Found.Error says why,
// and the last known claim stays. If no claim is known and slurmd runs, the claim is every GPU.
// If slurmd is neither enabled nor running, the claim is empty.
func (r *Reader) Read() Found {
	running := r.exists("sys/fs/cgroup/system.slice/slurmd*.service", "sys/fs/cgroup/system.slice/*slurmstepd.scope")
	f := Found{Runs: running || r.exists("etc/systemd/system/*.wants/slurmd*.service", "etc/systemd/system/*.requires/slurmd*.service")}
	if !f.Runs {
		*r = Reader{Root: r.Root, Host: r.Host, Own: r.Own, pending: r.pending}
		return f
	}
	f.Conf, f.Error = r.update(running)
	switch {
	case f.Error == nil:
		r.known = f.Conf != ""
	case f.Conf == "":
		r.known = false // slurmd's files are elsewhere now
	}
	// assumed does not change while slurmd is being restarted.
	r.assumed = f.Error != nil && (running || r.assumed) && !r.known && r.claim.None()
	if f.Claim = r.claim; r.assumed {
		f.Claim, f.Assumed = Claim{Every: true}, true
	}
	return f
}

// update reads the files and updates the claim. It returns the path of the file that the claim
// comes from. If slurmd runs, a missing file is an error.
func (r *Reader) update(running bool) (conf string, err error) {
	if r.pending == nil {
		pending := make(chan reading, 1)
		r.pending = pending
		root, own := r.Root, r.Own
		go func() { pending <- read(root, own) }() // only one such goroutine at a time; it ends when the files answer
	}
	var now reading
	select {
	case now = <-r.pending:
		r.pending = nil
	case <-time.After(readTimeout):
		return r.last.conf, fmt.Errorf("no answer within %s: see the file server that has them", readTimeout)
	}
	if now.err == nil && now.conf == "" && running {
		return "", errors.New("slurmd runs, and its slurm.conf is not in /etc/slurm")
	}
	if now.err != nil && (!now.gresRead || !r.claim.None()) {
		return now.conf, now.err
	}
	if r.last.gres != now.gres || r.last.slurm != now.slurm {
		r.claim = parse(now.slurm, now.gres, r.Host)
	}
	r.last = now
	return now.conf, now.err
}

// A reading has the texts of the files.
type reading struct {
	conf        string // "" if there are no files
	gres, slurm string
	gresRead    bool // gres.conf was read, even if slurm.conf could not be read
	err         error
}

// read reads both files, and all files that they include.
func read(root string, own config.OwnerCheck) (got reading) {
	if own == nil {
		own = config.RootOnly
	}
	t := texts{own: own}
	if got.conf, got.err = t.open(path.Join("/", root)); got.err != nil || got.conf == "" {
		return got
	}
	defer t.close()
	got.gres = t.read("gres.conf", 0)
	if got.err = t.err; got.err != nil {
		return got
	}
	got.gresRead = true
	got.slurm = t.read("slurm.conf", 0)
	if got.err = t.err; got.slurm == "" && got.gres == "" && got.err == nil {
		got.conf = ""
	}
	return got
}

// exists reports whether any file matches one of the patterns.
func (r *Reader) exists(patterns ...string) bool {
	for _, pattern := range patterns {
		if list, err := filepath.Glob(path.Join("/", r.Root, pattern)); err == nil && len(list) > 0 {
			return true
		}
	}
	return false
}

// Limits for files that include other files.
const (
	mostDepth = 4
	mostFiles = 32
)

// texts reads Slurm's files.
type texts struct {
	etc   *os.Root
	dir   string   // directory below etc
	there *os.Root // target of dir if dir is a link
	own   config.OwnerCheck
	files int
	err   error // the first error; nothing is read after an error
}

// open opens Slurm's directory below root. It returns the path of the directory's gres.conf, or ""
// if there is no such directory.
func (t *texts) open(root string) (conf string, err error) {
	if t.etc, err = os.OpenRoot(path.Join(root, "etc")); err != nil {
		return "", withoutPath(err)
	}
	for _, dir := range dirs {
		info, err := t.etc.Lstat(dir)
		if err != nil {
			continue
		}
		t.dir, conf = dir, path.Join("/etc", dir, "gres.conf")
		if info.Mode().Type() == fs.ModeSymlink {
			to := ""
			if to, err = follow(root, path.Join("/etc", dir), t.own); err == nil {
				t.there, err = os.OpenRoot(path.Join(root, to))
			}
		}
		if err != nil {
			t.close()
			return conf, fmt.Errorf("/etc/%s is a link: %w", dir, withoutPath(err))
		}
		return conf, nil
	}
	t.close()
	return "", nil
}

func (t *texts) close() {
	t.etc.Close()
	if t.there != nil {
		t.there.Close()
	}
}

// place splits the path of a file into an open directory and the path below that directory. If the
// name has no directory, the file is in Slurm's directory.
func (t *texts) place(name string) (dir *os.Root, rest string, err error) {
	if path.IsAbs(name) {
		below, ok := strings.CutPrefix(path.Clean(name), "/etc/")
		if !ok {
			return nil, "", errors.New("it is not below /etc")
		}
		if same, ok := strings.CutPrefix(below, t.dir+"/"); ok && t.there != nil {
			return t.there, same, nil
		}
		return t.etc, below, nil
	}
	if t.there != nil {
		return t.there, name, nil
	}
	return t.etc, path.Join(t.dir, name), nil
}

// read returns the text of a file and of all files that it includes, or "" if the file does not
// exist. If the name has no directory, the file is in Slurm's directory.
func (t *texts) read(name string, depth int) string {
	if t.files++; t.files > mostFiles || depth > mostDepth {
		t.fail(name, errors.New("too many files include one another"))
	}
	if t.err != nil {
		return ""
	}
	text, err := t.file(name)
	if errors.Is(err, fs.ErrNotExist) && depth == 0 {
		return ""
	}
	if err != nil {
		t.fail(name, err)
		return ""
	}
	if !strings.Contains(strings.ToLower(text), "include") {
		return text
	}
	var all strings.Builder
	for raw := range strings.Lines(text) {
		if l := parseLine(raw); l["include"] != "" {
			all.WriteString("\n" + t.read(l["include"], depth+1) + "\n")
		} else {
			all.WriteString(raw)
		}
	}
	return all.String()
}

func (t *texts) fail(name string, err error) {
	if t.err == nil {
		t.err = fmt.Errorf("%s: %w", name, err)
	}
}

func (t *texts) file(name string) (string, error) {
	in, below, err := t.place(name)
	if err != nil {
		return "", err
	}
	// Without O_NONBLOCK, opening a FIFO with the file's name would block the daemon for ever.
	f, err := in.OpenFile(below, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", withoutPath(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", withoutPath(err)
	}
	switch err := t.own(info); {
	case !info.Mode().IsRegular():
		return "", errors.New("it is not a regular file")
	case err != nil:
		return "", err
	case info.Size() > config.MaxFileBytes:
		return "", fmt.Errorf("it has more than %d bytes", config.MaxFileBytes)
	}
	data, err := io.ReadAll(io.LimitReader(f, config.MaxFileBytes))
	return string(data), withoutPath(err)
}

// withoutPath removes the path from an error, because the caller adds it.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
