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

// Found is what is known of the Slurm of a machine.
type Found struct {
	Claim
	Conf    string // such as /etc/slurm/gres.conf; "": it has no settings in /etc
	Runs    bool   // slurmd is enabled or runs here
	Error   error  // why the claim may be an older one, or none
	Assumed bool   // slurmd runs, and nobody can say which GPUs it has: so every one
}

// Says tells people what becomes of the GPUs of the claim, where allowed is whether jobs
// get them all the same.
func (f Found) Says(allowed bool) string {
	switch {
	case f.None():
		return "slurmd is enabled or runs here, and gives away no GPU by " + f.conf()
	case f.Assumed && allowed:
		return "slurmd runs here, which GPUs it gives away can't be read, and jobs of this scheduler get every one (gpus.slurm = \"allow\"): the two can meet there"
	case f.Assumed:
		return "slurmd runs here, and which GPUs it gives away can't be read, so that it may be every one: nothing is placed on any, and jobs that run there go on. " +
			"Have its files read, or set gpus.slurm = \"allow\" (and, in gpus.only, the GPUs that are not Slurm's)"
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
	Root    string            // below which the machine's files are; "": /
	Host    string            // the name of the machine
	Own     config.OwnerCheck // of each file, and of what a link leads over; nil: root's alone
	last    reading           // what claim is from
	claim   Claim
	known   bool         // by files that could all be read
	assumed bool         // until then: slurmd ran when nothing was known
	pending chan reading // of a look whose file server has not answered yet
}

// patience is how long files may take: a file server that does not answer holds nobody up.
const patience = 2 * time.Second

// dirs are where packages of Slurm have its files, below /etc.
var dirs = []string{"slurm", "slurm-llnl"}

// Look reads what has changed. What can't be read is told, and the claim that was known
// stays; where none was and slurmd runs, it is every GPU. Where slurmd is neither enabled
// nor running, nothing is claimed.
func (r *Reader) Look() Found {
	running := r.any("sys/fs/cgroup/system.slice/slurmd*.service", "sys/fs/cgroup/system.slice/*slurmstepd.scope")
	f := Found{Runs: running || r.any("etc/systemd/system/*.wants/slurmd*.service", "etc/systemd/system/*.requires/slurmd*.service")}
	if !f.Runs {
		*r = Reader{Root: r.Root, Host: r.Host, Own: r.Own, pending: r.pending}
		return f
	}
	f.Conf, f.Error = r.bring(running)
	switch {
	case f.Error == nil:
		r.known = f.Conf != ""
	case f.Conf == "":
		r.known = false // its settings have gone elsewhere
	}
	// It stays so while slurmd is only started again.
	r.assumed = f.Error != nil && (running || r.assumed) && !r.known && r.claim.None()
	if f.Claim = r.claim; r.assumed {
		f.Claim, f.Assumed = Claim{Every: true}, true
	}
	return f
}

// bring brings the claim up to date, and returns the file that it is from. Where slurmd runs
// there has to be one.
func (r *Reader) bring(running bool) (conf string, err error) {
	if r.pending == nil {
		pending := make(chan reading, 1)
		r.pending = pending
		root, own := r.Root, r.Own
		go func() { pending <- read(root, own) }() // one at a time, which ends when its files answer
	}
	var now reading
	select {
	case now = <-r.pending:
		r.pending = nil
	case <-time.After(patience):
		return r.last.conf, fmt.Errorf("no answer within %s: see the file server that has them", patience)
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

// reading is what the files said.
type reading struct {
	conf        string // "": there are none
	gres, slurm string
	gresRead    bool // whatever became of slurm.conf
	err         error
}

// read reads both files with what they include.
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
	dir   string   // below etc
	there *os.Root // to which dir leads, where that is a link
	own   config.OwnerCheck
	files int
	err   error // the first; nothing is read any more
}

// open finds Slurm's directory below the files of a machine, and returns its gres.conf;
// "" where there is no such directory.
func (t *texts) open(root string) (conf string, err error) {
	if t.etc, err = os.OpenRoot(path.Join(root, "etc")); err != nil {
		return "", reason(err)
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
			return conf, fmt.Errorf("/etc/%s is a link: %w", dir, reason(err))
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

// place is where a file is; a name without a directory is in Slurm's.
func (t *texts) place(name string) (in *os.Root, below string, err error) {
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
	in, below, err := t.place(name)
	if err != nil {
		return "", err
	}
	// Without O_NONBLOCK a FIFO of that name would hold the daemon up for ever.
	f, err := in.OpenFile(below, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", reason(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", reason(err)
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
