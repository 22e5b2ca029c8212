package client

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// onFlag chooses the engine. It stands before the command or among its options.
const onFlag = "--on"

// The engines: the daemon of this machine, and Slurm.
const (
	engineLocal = "local"
	engineSlurm = "slurm"
)

// engineVariable names the engine in the environment.
const engineVariable = "GPUSCHED_ENGINE"

// slurmPrefix is before the number of a job of Slurm's where the engine is to be told from it.
const slurmPrefix = engineSlurm + ":"

// cutOn takes the choice of an engine from the front of a command line.
func (a *app) cutOn(args []string) ([]string, error) {
	name, value, has := strings.Cut(args[0], "=")
	switch {
	case name != onFlag:
		return args, nil
	case has:
		args = args[1:]
	case len(args) < 2:
		return nil, usagef("%s needs an engine: %s or %s", onFlag, engineLocal, engineSlurm)
	default:
		value, args = args[1], args[2:]
	}
	a.on = value
	_, err := a.whichEngine()
	return args, err
}

// saysOn reports whether a word is the option that chooses an engine.
func saysOn(word string) bool { return word == onFlag || strings.HasPrefix(word, onFlag+"=") }

// notOn refuses the choice of an engine behind a flag that has chosen whom to ask.
func notOn(flag string, rest []string) error {
	if len(rest) > 0 && saysOn(rest[0]) {
		return usagef("%s and %s both say who is asked: use one of them", flag, onFlag)
	}
	return nil
}

// whichEngine is the engine that is meant: by the command line, else by the environment, else by the
// user's settings, else by those of the site. Who names a scheduler's socket means that one.
func (a *app) whichEngine() (string, error) {
	switch {
	case a.on != "":
		return knownEngine(a.on, onFlag)
	case a.own || a.asked != nil:
		return engineLocal, nil
	case a.getenv(engineVariable) != "":
		return knownEngine(a.getenv(engineVariable), engineVariable)
	case a.getenv(contract.SocketVariable) != "":
		return engineLocal, nil
	}
	s, err := a.settings()
	if err != nil {
		return "", err
	}
	return cmp.Or(s.engine, engineLocal), nil
}

func knownEngine(name, where string) (string, error) {
	if name != engineLocal && name != engineSlurm {
		return "", refuse(api.CodeUsage, "use "+engineLocal+" or "+engineSlurm, "%s: there is no engine %q", where, name)
	}
	return name, nil
}

// clientSettings is the file of what the command line goes by, in the directory of the site's
// settings and in that of the user's. mostSettings bounds what is read of it.
const (
	clientSettings = "client.toml"
	mostSettings   = 64 << 10
)

// chosen is what files of settings say of whom to ask.
type chosen struct {
	engine string   // "": they say nothing of it
	hosts  []string // nil: they say nothing of them; empty: this machine alone
	path   string   // of the file that was read, of all that of the hosts; "": none
}

// settings are those of the user and, for what these leave open, of the site. They are read once.
func (a *app) settings() (chosen, error) {
	if a.chosen != nil {
		return *a.chosen, nil
	}
	var all chosen
	for _, path := range a.settingsFiles() {
		if all.engine != "" && all.hosts != nil {
			break // nothing is left open
		}
		s, err := a.settingsIn(path)
		if err != nil {
			return all, err
		}
		if all.engine == "" {
			all.engine = s.engine
		}
		if all.hosts == nil {
			all.hosts, all.path = s.hosts, s.path
		}
	}
	a.chosen = &all
	return all, nil
}

// settingsFiles are the paths of the user's settings, where there is a home, and of the site's.
func (a *app) settingsFiles() (paths []string) {
	for _, dir := range []string{a.ownConfigDir(), filepath.Join("/", a.root, "etc/gpusched")} {
		if path := filepath.Join(dir, clientSettings); filepath.IsAbs(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// settingsIn reads a file, which may not be there. What another user has put there is passed over, a link too: in
// an environment that is another user's it would choose, or have something else opened with the caller's rights.
// For root all of the path has to be root's.
func (a *app) settingsIn(path string) (s chosen, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) {
		return s, nil
	}
	if err != nil {
		return s, usagef("%v", err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !a.trusts(info) || a.uid == 0 && !(rootsOwn(path) && rootsOwn(real)) {
		return s, nil
	}
	if info, err = os.Lstat(real); err != nil || !info.Mode().IsRegular() {
		return s, usagef("%s is not a file of settings", path)
	}
	f, err := os.OpenFile(real, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return s, nil
	}
	if err != nil {
		return s, usagef("%v", err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() || !a.trusts(info) {
		return s, nil
	}
	text, err := io.ReadAll(io.LimitReader(f, mostSettings))
	if err != nil {
		return s, usagef("%v", err)
	}
	return settingsOf(text, path)
}

// trusts reports whether a file, directory or link is root's or the caller's own.
func (a *app) trusts(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int(st.Uid) == a.uid)
}

// rootsOwn reports whether nobody but root can have put there what a path leads to: all of it, links as well,
// is root's, and no directory lets others write, unless they can't replace what is there.
func rootsOwn(path string) bool {
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return false
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		shared := info.IsDir() && info.Mode()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0
		if !ok || st.Uid != 0 || shared {
			return false
		}
		if at == "/" {
			return true
		}
	}
}

// settingsOf reads the text of a file of settings.
func settingsOf(text []byte, path string) (chosen, error) {
	var is struct {
		Engine *string  `toml:"engine"`
		Hosts  []string `toml:"hosts"`
	}
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&is); err != nil {
		line := 0
		var wrong *toml.DecodeError
		var unknown *toml.StrictMissingError
		switch {
		case errors.As(err, &wrong):
			line, _ = wrong.Position()
		case errors.As(err, &unknown):
			line, _ = unknown.Errors[0].Position()
		}
		return chosen{}, refuse(api.CodeUsage, `the settings are engine = "slurm", or "local", and hosts = ["a", "b"]`,
			"%s: line %d is not a setting", path, line)
	}
	s := chosen{hosts: is.Hosts, path: path}
	if is.Engine == nil {
		return s, nil
	}
	var err error
	s.engine, err = knownEngine(*is.Engine, path)
	return s, err
}

// namesSlurm reports whether one of a list of jobs is Slurm's, by its prefix. In the name of a job that is text.
func namesSlurm(word string) bool {
	listed := strings.Contains(word, ","+slurmPrefix) && !strings.HasPrefix(word, "name:")
	return listed || strings.HasPrefix(word, slurmPrefix)
}
