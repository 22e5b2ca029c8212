package cli

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

// OnFlag selects the engine. It stands before the command or among its options.
const OnFlag = "--on"

// The engines are this machine's daemon and Slurm.
const (
	EngineLocal = "local"
	EngineSlurm = "slurm"
)

// EngineVariable is the environment variable that selects the engine.
const EngineVariable = "GPUSCHED_ENGINE"

// SlurmPrefix stands before the number of a Slurm job where the number alone would not tell the
// engine.
const SlurmPrefix = EngineSlurm + ":"

// cutOn takes --on from the front of a command line.
func (a *App) cutOn(args []string) ([]string, error) {
	name, value, has := strings.Cut(args[0], "=")
	switch {
	case name != OnFlag:
		return args, nil
	case has:
		args = args[1:]
	case len(args) < 2:
		return nil, Usagef("%s needs an engine: %s or %s", OnFlag, EngineLocal, EngineSlurm)
	default:
		value, args = args[1], args[2:]
	}
	a.On = value
	_, err := a.WhichEngine()
	return args, err
}

// SaysOn reports whether a word is --on.
func SaysOn(word string) bool { return word == OnFlag || strings.HasPrefix(word, OnFlag+"=") }

// NotOn refuses --on behind another flag that has selected the scheduler.
func NotOn(flag string, rest []string) error {
	if len(rest) > 0 && SaysOn(rest[0]) {
		return Usagef("%s and %s both select the scheduler: use one of them", flag, OnFlag)
	}
	return nil
}

// WhichEngine returns the engine that the command line names, else the environment, else the user's
// settings, else the site's. A socket named by the command line or environment means the local
// scheduler.
func (a *App) WhichEngine() (string, error) {
	switch {
	case a.On != "":
		return knownEngine(a.On, OnFlag)
	case a.Own || a.Asked != nil:
		return EngineLocal, nil
	case a.Getenv(EngineVariable) != "":
		return knownEngine(a.Getenv(EngineVariable), EngineVariable)
	case a.Getenv(contract.SocketVariable) != "":
		return EngineLocal, nil
	}
	s, err := a.Settings()
	if err != nil {
		return "", err
	}
	return cmp.Or(s.engine, EngineLocal), nil
}

func knownEngine(name, where string) (string, error) {
	if name != EngineLocal && name != EngineSlurm {
		return "", Refuse(api.CodeUsage, "use "+EngineLocal+" or "+EngineSlurm, "%s: there is no engine %q", where, name)
	}
	return name, nil
}

// ClientSettings is the settings file of the command line, in /etc/gpusched and in the user's
// configuration directory. At most MostSettings bytes of it are read.
const (
	ClientSettings = "client.toml"
	MostSettings   = 64 << 10
)

// Chosen is what settings files say about the scheduler to ask.
type Chosen struct {
	engine string   // "": not set
	Hosts  []string // nil: not set; empty: this machine alone
	Path   string   // the file that was read, or the one that sets Hosts; "": none
}

// Settings returns the user's settings, completed by the site's. They are read once.
func (a *App) Settings() (Chosen, error) {
	if a.Chosen != nil {
		return *a.Chosen, nil
	}
	var all Chosen
	for _, path := range a.SettingsFiles() {
		if all.engine != "" && all.Hosts != nil {
			break // nothing is left to complete
		}
		s, err := a.SettingsIn(path)
		if err != nil {
			return all, err
		}
		if all.engine == "" {
			all.engine = s.engine
		}
		if all.Hosts == nil {
			all.Hosts, all.Path = s.Hosts, s.Path
		}
	}
	a.Chosen = &all
	return all, nil
}

// SettingsFiles returns the path of the user's settings, if there is a home, and of the site's.
func (a *App) SettingsFiles() (paths []string) {
	for _, dir := range []string{a.OwnConfigDir(), filepath.Join("/", a.Root, "etc/gpusched")} {
		if path := filepath.Join(dir, ClientSettings); filepath.IsAbs(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// SettingsIn reads a settings file, which need not exist. It ignores a file or link that belongs to
// another user: if the environment is another user's, such a file would select the scheduler, or
// make this process open something else with the caller's rights. When root runs this, every
// directory on the path must belong to root.
func (a *App) SettingsIn(path string) (s Chosen, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) {
		return s, nil
	}
	if err != nil {
		return s, Usagef("%v", err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !a.Trusts(info) || a.UID == 0 && !(rootsOwn(path) && rootsOwn(real)) {
		return s, nil
	}
	if info, err = os.Lstat(real); err != nil || !info.Mode().IsRegular() {
		return s, Usagef("%s is not a file of settings", path)
	}
	f, err := os.OpenFile(real, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return s, nil
	}
	if err != nil {
		return s, Usagef("%v", err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() || !a.Trusts(info) {
		return s, nil
	}
	text, err := io.ReadAll(io.LimitReader(f, MostSettings))
	if err != nil {
		return s, Usagef("%v", err)
	}
	return SettingsOf(text, path)
}

// Trusts reports whether a file, directory or link belongs to root or to the caller.
func (a *App) Trusts(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int(st.Uid) == a.UID)
}

// rootsOwn reports whether only root can decide what a path leads to: everything on it, links
// included, belongs to root, and others can't write to its directories or can't replace what is
// there.
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

// SettingsOf parses the text of a settings file.
func SettingsOf(text []byte, path string) (Chosen, error) {
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
		return Chosen{}, Refuse(api.CodeUsage, `the settings are engine = "slurm", or "local", and hosts = ["a", "b"]`,
			"%s: line %d is not a setting", path, line)
	}
	s := Chosen{Hosts: is.Hosts, Path: path}
	if is.Engine == nil {
		return s, nil
	}
	var err error
	s.engine, err = knownEngine(*is.Engine, path)
	return s, err
}

// namesSlurm reports whether a list of jobs has one with Slurm's prefix. Inside a job's name the
// prefix means nothing.
func namesSlurm(word string) bool {
	listed := strings.Contains(word, ","+SlurmPrefix) && !strings.HasPrefix(word, "name:")
	return listed || strings.HasPrefix(word, SlurmPrefix)
}
