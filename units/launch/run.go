package launch

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// A run is the state of one launch.
type run struct {
	self   string   // the launcher's own path, for a login shell
	path   string   // of the spec
	stage  stage    // the stage of this process
	base   []string // the environment of this process
	nodes  nodes
	notify notifier
	exec   func(path string, argv, env []string) error
}

// stage says who started the launcher: the unit, the login shell, or the shell of the set-up. The
// stages of the two shells also say whether the device filter is active.
type stage string

const (
	first             stage = ""
	afterLogin        stage = "--after-login=filtered"
	afterLoginExposed stage = "--after-login=exposed"
	afterSetup        stage = "--after-setup=filtered"
	afterSetupExposed stage = "--after-setup=exposed"
)

// run goes through all steps. It returns only if one of them failed.
func (r *run) run() *Failure {
	s, err := Read(r.path)
	if err != nil {
		return &Failure{Step: contract.StepSpec, What: "its private instructions could not be read", Err: err,
			Next: "an administrator should see 'gpusched health'; then submit the job again"}
	}
	if f := checkSpec(s); f != nil {
		return f
	}
	if r.stage == afterSetup || r.stage == afterSetupExposed {
		return r.afterSetup(s, r.stage == afterSetup)
	}
	filtered := r.stage == afterLogin
	if r.stage == first {
		var f *Failure
		if filtered, f = r.nodes.prove(s); f != nil {
			return f
		}
	}
	if r.stage == first && s.Scratch != "" {
		if f := makeScratch(s.Scratch); f != nil {
			return f
		}
	}
	unix.Umask(s.Umask)
	if err := unix.Chdir(s.Dir); err != nil {
		return &Failure{Step: contract.StepChdir, What: "its working directory " + strconv.Quote(shorten(s.Dir)) +
			" could not be entered", Err: err,
			Next: "the directory must exist on this machine and be open to the job's user (--chdir)"}
	}
	if r.stage == first && s.Log.Path != "" {
		r.keepLog(s)
	}
	if !s.Container.IsZero() {
		return r.contain(s, filtered)
	}
	if s.EnvMode == contract.EnvLogin && r.stage == first {
		return r.loginShell(s, filtered)
	}
	return r.command(s, filtered)
}

// checkSpec refuses a spec that no daemon would write.
func checkSpec(s *Spec) *Failure {
	what := ""
	switch {
	case len(s.Argv) == 0:
		what = "no command"
	case s.EnvMode != contract.EnvInherit && s.EnvMode != contract.EnvClean && s.EnvMode != contract.EnvLogin:
		what = "an unknown environment mode"
	case !s.Container.IsZero() && !slices.Contains(contract.Engines(), s.Container.Engine):
		what = "an unknown engine of containers"
	case !filepath.IsAbs(s.Dir):
		what = "no absolute directory"
	default:
		return nil
	}
	return &Failure{Step: contract.StepSpec, What: "its private instructions have " + what, Err: unix.EINVAL,
		Next: "were the daemon and the launcher upgraded together?"}
}

// command replaces this process with the job's command.
func (r *run) command(s *Spec, filtered bool) *Failure {
	base := r.base
	if r.stage != first {
		base = afterShell(base)
	}
	if !filtered {
		r.notify.send("STATUS=" + contract.StatusUnfiltered)
	}
	if r.stage != afterSetup && r.stage != afterSetupExposed {
		if f := neededAway(s, valueOf(r.base, "HOME"), mountTable); f != nil {
			return f
		}
	}
	env, front := commandEnvironment(s, filtered, base)
	if s.Setup.Command != "" || len(s.Setup.Modules) > 0 ||
		s.Setup.Conda != "" && activateScripts(s.Setup.Conda, systemNodes().list) {
		return r.setup(s, filtered, env, front)
	}
	under := s
	if s.hasHolder() {
		under = withoutTight(s)
	}
	if f := r.inherit(under, env); f != nil {
		return f
	}
	return r.become(s, env, filtered)
}

// execSilent replaces this process with the command, which can't send messages. If that fails, the
// service manager gets only the exit status, so execSilent first checks what it can.
func (r *run) execSilent(path string, argv, env []string) error {
	if err := foreseeError(path, argv, env); err != nil {
		return err
	}
	r.reportBegun(silence)
	return r.exec(path, argv, env)
}

// inherit sets up what the command inherits from this process. The limits come last, because the
// launcher itself could not continue under a small limit.
func (r *run) inherit(s *Spec, env []string) *Failure {
	if err := closeOnExec(); err != nil {
		return &Failure{Step: contract.StepLimits, What: "its descriptors could not be closed", Err: err}
	}
	defaultSignals()
	if s.Ignored > 0 {
		setAction(uintptr(s.Ignored), sigIgnore)
	}
	runtime.LockOSThread() // execve passes on the signal mask of the calling thread
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil); err != nil {
		return &Failure{Step: contract.StepLimits, What: "its signals could not be unblocked", Err: err}
	}
	reserve(s, env)
	if err := setLimits(s.SoftLimits); err != nil {
		return limitsFailure(err)
	}
	return nil
}

func limitsFailure(err error) *Failure {
	return &Failure{Step: contract.StepLimits, What: "its resource limits could not be set", Err: err,
		Next: "'ulimit -a' shows the submitter's; limits set for gpujob-.service by the site come on top"}
}

// reserve allocates the memory for the last copy of arguments and environment, if a limit that is
// about to be set would prevent that.
func reserve(s *Spec, env []string) {
	tight := false
	for _, l := range s.SoftLimits {
		tight = tight || ((l.Name == "AS" || l.Name == "DATA") && l.Soft < 1<<32)
	}
	if !tight {
		return
	}
	n := 1 << 20
	for _, list := range [][]string{s.Argv, env} {
		for _, arg := range list {
			n += len(arg) + 32
		}
	}
	runtime.KeepAlive(make([]byte, n))
	runtime.GC()
}

// loginShell replaces this process with the user's login shell, and makes the shell become this
// launcher again. No text of the job passes through the shell, so the launcher relies on no shell's
// quoting. The command is looked up in the shell's PATH.
func (r *run) loginShell(s *Spec, filtered bool) *Failure {
	next := afterLogin
	if !filtered {
		next = afterLoginExposed
	}
	for _, word := range []string{r.self, r.path} {
		if !filepath.IsAbs(word) || !plainWord(word) {
			return &Failure{Step: contract.StepSpec, What: "the path " + strconv.Quote(word) + " can't go through a shell",
				Err: unix.EINVAL}
		}
	}
	env := Environment(s, filtered, slices.Concat(r.base, siteVariables("/etc/environment")))
	login := s.Shell
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "SHELL="); ok {
			login = v
		}
	}
	if login == "" {
		login = shell
	}
	if r.notify.addr.Name != "" {
		env = append(env, notifySocket+"="+r.notify.addr.Name)
	}
	name := filepath.Base(login)
	argv := []string{"-" + name, "-c", "exec " + r.self + " " + string(next) + " " + r.path}
	if takesLoginFlag(name) {
		argv = append([]string{argv[0], "-l"}, argv[1:]...)
	}
	r.notify.send("STATUS=" + contract.StatusLogin)
	err := tryExec(login, argv, env, r.exec)
	return &Failure{Step: contract.StepShell, What: "the login shell " + strconv.Quote(login) + " could not be run",
		Err: err, path: login,
		Next: "use --env inherit or --env clean, or have an administrator set another shell for the account"}
}

// takesLoginFlag reports whether a shell needs -l to read its login files if it also gets -c. Other
// shells read them because their name begins with a dash.
func takesLoginFlag(name string) bool {
	switch name {
	case "bash", "zsh", "ksh", "mksh", "fish", "dash", "ash", "sh":
		return true
	}
	return false
}

// plainWord reports whether s has no character that some shell interprets.
func plainWord(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' &&
			c <= '9', c == '/', c == '.', c == '_', c == '-', c == '+', c == '=':
		default:
			return false
		}
	}
	return s != ""
}

// replace replaces this process with another program. It must use the runtime's own function, which
// prevents new threads meanwhile and restores the limit of open files.
func replace(path string, argv, env []string) error {
	err := syscall.Exec(path, argv, env)
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}
