package launch

import (
	"errors"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// setupScript is the script that the shell of a set-up runs. All values are arguments or variables,
// so that nothing needs quoting. The user's own command is in a variable of the environment, which
// others can't read. The command inherits all open files, and the directory, umask and limits that
// the set-up sets. If the shell ends before the last command, for any reason, the set-up has
// failed. The script is one line, so that shells count the lines of the user's command from 1 in
// their errors.
var setupScript = strings.NewReplacer(
	"then\n\t", "then ", "do\n\t\t", "do ", "\n\t\t", "; ", "\n\t", "; ", "\n", "; ",
).Replace(`_gpusched_self=$1 _gpusched_spec=$2 _gpusched_next=$3
_gpusched_init=$4 _gpusched_front=$5 _gpusched_conda=$6
shift 6
_gpusched_part=modules
trap 'exec "$_gpusched_self" "--setup-failed=$_gpusched_part:$?" "$_gpusched_spec"' EXIT
if [ -n "$_gpusched_init" ]; then
	. "$_gpusched_init"
	module load "$@" || exit
	PATH=$_gpusched_front$PATH
fi
set --
_gpusched_part=activate
if [ -n "$_gpusched_conda" ]; then
	for _gpusched_file in "$_gpusched_conda"` + activateDir + `/*.sh; do
		if [ -r "$_gpusched_file" ]; then . "$_gpusched_file"; fi
	done
fi
_gpusched_part=command
eval "$` + setupVariable + `"
_gpusched_status=$?
if [ "$_gpusched_status" != 0 ]; then exit "$_gpusched_status"; fi
trap - EXIT
exec "$_gpusched_self" "$_gpusched_next" "$_gpusched_spec"`)

// setupVariable contains the user's command until the shell runs it.
const setupVariable = "GPUSCHED_SETUP"

// setupFailed begins the option with which the shell becomes the launcher again after a failure.
// The failed part and the exit status follow it.
const setupFailed = "--setup-failed="

// isTight reports whether the launcher can't run under a limit.
func isTight(l contract.Limit) bool {
	switch l.Name {
	case "AS", "DATA", "NPROC":
		return true
	}
	return l.Soft < contract.LeastLimit(l.Name)
}

// setup replaces this process with a shell that runs the set-up and then becomes this launcher
// again. From here on the unit can't send messages, because the user chooses what runs.
func (r *run) setup(s *Spec, filtered bool, env []string, front string) *Failure {
	next := afterSetup
	if !filtered {
		next = afterSetupExposed
	}
	init := ""
	if len(s.Setup.Modules) > 0 {
		if init = moduleInit(env); init == "" {
			return &Failure{Step: contract.StepSetup, What: "its modules could not be loaded", Err: unix.ENOENT,
				Next: "neither Environment Modules nor Lmod is installed here (--modules)"}
		}
	}
	if f := r.inherit(withoutTight(s), env); f != nil {
		return f
	}
	env = append(env, setupVariable+"="+s.Setup.Command)
	argv := append([]string{"sh", "-c", setupScript, "gpusched-setup", r.self, r.path, string(next), init, front, s.Setup.Conda},
		s.Setup.Modules...)
	if filtered {
		r.notify.send("STATUS=" + contract.StatusSetup)
	}
	err := error(unix.ENOENT)
	for _, shell := range contract.SetupShells() {
		if err = r.execSilent(shell, argv, env); err != unix.ENOENT {
			break
		}
	}
	return &Failure{Step: contract.StepSetup, What: "the shell for its set-up could not be run", Err: err}
}

// withoutTight returns the spec with only those limits under which the launcher can run.
func withoutTight(s *Spec) *Spec {
	early := *s
	early.SoftLimits, _ = splitLimits(s.SoftLimits)
	return &early
}

func splitLimits(limits []contract.Limit) (early, tight []contract.Limit) {
	for _, l := range limits {
		if isTight(l) {
			tight = append(tight, l)
		} else {
			early = append(early, l)
		}
	}
	return early, tight
}

// moduleInit returns the file that defines "module" for the shell that setup will use.
func moduleInit(env []string) string {
	kind, home := "sh", ""
	for _, shell := range contract.SetupShells() {
		if unix.Faccessat(unix.AT_FDCWD, shell, unix.X_OK, 0) == nil {
			kind = shell[strings.LastIndexByte(shell, '/')+1:]
			break
		}
	}
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "MODULESHOME="); ok {
			home = v
		}
	}
	for _, file := range contract.ModuleInits(home, kind) {
		if unix.Faccessat(unix.AT_FDCWD, file, unix.R_OK, 0) == nil {
			return file
		}
	}
	return ""
}

// afterSetup replaces this process with the job's command, with the environment, directory, umask
// and open files that the set-up left.
func (r *run) afterSetup(s *Spec, filtered bool) *Failure {
	e := &environment{index: map[string]int{}}
	for _, kv := range r.base {
		if name := nameOf(kv); name != setupVariable && name != notifySocket && kindOf(name) != ofShell {
			e.put(kv)
		}
	}
	e.job(s) // a set-up must not change the job's GPUs
	e.setGPUs(s, filtered)
	env := e.variables()
	tight := *s
	_, tight.SoftLimits = splitLimits(s.SoftLimits)
	runtime.LockOSThread()
	if !s.hasHolder() {
		reserve(&tight, env)
		if err := setLimits(tight.SoftLimits); err != nil {
			f := limitsFailure(err)
			f.Step = contract.StepSetup // the command may exit with the status of any other step
			return f
		}
	}
	return r.become(s, env, filtered)
}

// setupFailure returns the failure that the shell reported. Its argument names the part of the
// set-up that failed, and that part's exit status.
func setupFailure(how string) *Failure {
	part, status, _ := strings.Cut(how, ":")
	f := &Failure{Step: contract.StepSetup, Next: "see what it printed above; 'gpusched show' has the command of --setup"}
	switch part {
	case "modules":
		f.What, f.Next = "its modules could not be loaded", "see what was printed above (--modules)"
	case "activate":
		f.What, f.Next = "a script in its conda environment's "+activateDir+" ended the shell", "see what was printed above (--conda)"
	default:
		f.What = "its set-up failed"
	}
	f.Err = errors.New("exit status " + status)
	if status == "0" {
		f.Err = errors.New("it ended the shell that was to become the job's command")
	}
	return f
}
