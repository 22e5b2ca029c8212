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

	"github.com/gpusched/gpusched/daemon/config"
)

// Found is what is known of the Slurm of a machine.
type Found struct {
	Claim
	Conf  string // such as /etc/slurm/gres.conf; "": it has no settings in /etc
	Runs  bool   // slurmd is enabled or runs here
	Error error  // why the claim may be an older one, or none
}

// Says tells people what becomes of the GPUs of the claim, where allowed is whether jobs
// get them all the same.
func (f Found) Says(allowed bool) string {
	switch {
	case f.None():
		return "slurmd is enabled or runs here, and gives away no GPU by " + f.conf()
	case allowed:
		return "Slurm has " + f.Claim.String() + " (" + f.conf() + "), and jobs of this scheduler get them as well (gpus.slurm = \"allow\"): the two can meet there"
	}
	return "Slurm has " + f.Claim.String() + " (" + f.conf() + "): nothing is placed there, and jobs that run there go on. " +
		"To have a GPU back, take it out of that file and restart slurmd; gpus.slurm = \"allow\" has both use it"
}

func (f Found) conf() string {
	if f.Conf == "" {
		return "its gres.conf"
	}
	return f.Conf
}

// Reader looks at the files time and again. The zero value reads those of this
// machine; it is used by one goroutine.
type Reader struct {
	Root  string            // below which the machine's files are; "": /
	Host  string            // the name of the machine
	Own   config.OwnerCheck // of each file; nil: root's alone
	last  [2]string         // the texts that claim is from
	claim Claim
}

// dirs are where packages of Slurm have its files, below /etc.
var dirs = []string{"slurm", "slurm-llnl"}

// Look reads what has changed. What can't be read is told, and the claim that was known
// stays. Where slurmd is neither enabled nor running, nothing is claimed.
func (r *Reader) Look() Found {
	running := r.any("sys/fs/cgroup/system.slice/slurmd*.service", "sys/fs/cgroup/system.slice/*slurmstepd.scope")
	f := Found{Runs: running || r.any("etc/systemd/system/*.wants/slurmd*.service", "etc/systemd/system/*.requires/slurmd*.service")}
	if !f.Runs {
		return f
	}
	if f.Error = r.read(&f); f.Error == nil && f.Conf == "" && running {
		f.Error = errors.New("slurmd runs, and its slurm.conf is not in /etc/slurm")
	}
	f.Claim = r.claim
	return f
}

// read brings the claim up to date.
func (r *Reader) read(f *Found) error {
	etc, err := os.OpenRoot(path.Join("/", r.Root, "etc"))
	if err != nil {
		return err
	}
	defer etc.Close()
	t := texts{etc: etc, own: r.Own}
	for _, dir := range dirs {
		if _, err := etc.Lstat(dir); err == nil {
			t.dir, f.Conf = dir, path.Join("/etc", dir, "gres.conf")
			break
		}
	}
	if t.dir == "" {
		return nil
	}
	gres := t.read("gres.conf", 0)
	if t.err != nil {
		return t.err
	}
	slurm := t.read("slurm.conf", 0)
	if t.err != nil && !r.claim.None() {
		return t.err
	}
	if slurm == "" && gres == "" && t.err == nil {
		f.Conf = ""
	}
	if read := [2]string{gres, slurm}; r.last != read {
		r.claim, r.last = parse(slurm, gres, r.Host), read
	}
	return t.err
}

// any reports whether there is a file by one of some patterns.
func (r *Reader) any(patterns ...string) bool {
	for _, pattern := range patterns {
		if list, err := filepath.Glob(path.Join("/", r.Root, pattern)); err == nil && len(list) > 0 {
			return true
		}
	}
	return false
}

// The bounds of files that include others.
const (
	mostDepth = 4
	mostFiles = 32
)

// texts reads files of Slurm's.
type texts struct {
	etc   *os.Root
	dir   string // below etc
	own   config.OwnerCheck
	files int
	err   error // the first; nothing is read any more
}

// read is the text of a file with all that it includes; "" where there is none of that
// name. A name without a directory is in Slurm's.
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

// file reads one.
func (t *texts) file(name string) (string, error) {
	below := path.Join(t.dir, name)
	if path.IsAbs(name) {
		var ok bool
		if below, ok = strings.CutPrefix(path.Clean(name), "/etc/"); !ok {
			return "", errors.New("it is not below /etc")
		}
	}
	// Without O_NONBLOCK a FIFO of that name would hold the daemon up for ever.
	f, err := t.etc.OpenFile(below, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", reason(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", reason(err)
	}
	own := t.own
	if own == nil {
		own = config.RootOnly
	}
	switch err := own(info); {
	case !info.Mode().IsRegular():
		return "", errors.New("it is not a regular file")
	case err != nil:
		return "", err
	case info.Size() > config.MaxFileBytes:
		return "", fmt.Errorf("it has more than %d bytes", config.MaxFileBytes)
	}
	data, err := io.ReadAll(io.LimitReader(f, config.MaxFileBytes))
	return string(data), reason(err)
}

// reason is an error without the path, which is said already.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
