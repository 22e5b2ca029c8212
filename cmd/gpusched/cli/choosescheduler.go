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

// OnFlag selects the engine. It can come before the command or among the command's options.
const OnFlag = "--on"

// The engines are this machine's daemon and Slurm.
const (
	EngineLocal = "local"
	EngineSlurm = "slurm"
)

// EngineVariable is the environment variable that selects the engine.
const EngineVariable = "GPUSCHED_ENGINE"

// SlurmPrefix precedes a Slurm job's number where the number alone could mean another engine's job.
const SlurmPrefix = EngineSlurm + ":"

// cutOn removes --on from the front of a command line and sets the engine.
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

// SaysOn reports whether an argument is --on.
func SaysOn(word string) bool { return word == OnFlag || strings.HasPrefix(word, OnFlag+"=") }

// NotOn refuses --on after another flag that has already selected the scheduler.
func NotOn(flag string, rest []string) error {
	if len(rest) > 0 && SaysOn(rest[0]) {
		return Usagef("%s and %s both select the scheduler: use one of them", flag, OnFlag)
	}
	return nil
}

// WhichEngine returns the engine. It looks at the command line first, then at the environment, the
// user's settings and the site's settings. If the command line or environment names a socket, the
// engine is the local scheduler.
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

// ClientSettings is the name of the command line's settings file. The file is in /etc/gpusched and
// in the user's configuration directory. At most MostSettings bytes of it are read.
const (
	ClientSettings = "client.toml"
	MostSettings   = 64 << 10
)

// Chosen has the scheduler and machines that the settings files select.
type Chosen struct {
	engine string   // "": not set
	Hosts  []string // nil: not set; empty: this machine alone
	Path   string   // the file that sets Hosts, else the file that was read; "": none
}

// Settings returns the user's settings. The site's settings fill in what the user has not set. The
// files are read once.
func (a *App) Settings() (Chosen, error) {
	if a.Chosen != nil {
		return *a.Chosen, nil
	}
	var all Chosen
	for _, path := range a.SettingsFiles() {
		if all.engine != "" && all.Hosts != nil {
			break // everything is set
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

// SettingsFiles returns the path of the user's settings file, if the user has a home, and the path
// of the site's settings file.
func (a *App) SettingsFiles() (paths []string) {
	for _, dir := range []string{a.OwnConfigDir(), filepath.Join("/", a.Root, "etc/gpusched")} {
		if path := filepath.Join(dir, ClientSettings); filepath.IsAbs(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// SettingsIn reads a settings file, which may be missing. It ignores a file or link that belongs to
// another user: if the environment came from that user, the file could select the scheduler, or make
// this process open other files with the caller's rights. If root runs this process, every
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

// rootsOwn reports whether only root can decide which file a path leads to. Everything on the path,
// including links, must belong to root. If others can write to a directory on the path, the sticky
// bit must keep them from replacing what is in it.
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

// namesSlurm reports whether any job in a list has Slurm's prefix. The prefix has no meaning inside
// a job's name.
func namesSlurm(word string) bool {
	listed := strings.Contains(word, ","+SlurmPrefix) && !strings.HasPrefix(word, "name:")
	return listed || strings.HasPrefix(word, SlurmPrefix)
}
