package launch

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// Main is the launcher, with the arguments and the environment of its process. After a success it
// does not return, because the process has become the job's command. After a failure it says why,
// and returns the exit status.
func Main(args, environ []string) int { return start(args, environ, systemNodes()) }

func start(args, environ []string, n nodes) int {
	r := run{base: environ, nodes: n, exec: replace}
	rest := args[1:]
	if len(rest) == 2 && rest[0] == contract.TellFlag {
		return tell(rest[1], os.Stderr)
	}
	if len(rest) == 2 && rest[0] == contract.CheckFlag {
		return r.checkCalls(rest[1])
	}
	if len(rest) == 2 && rest[0] == contract.AwaitFlag {
		return awaitPipe(rest[1], valueOf(environ, "MAINPID"))
	}
	if len(rest) == 2 && rest[0] == contract.ScreenEndFlag {
		return endScreen(rest[1])
	}
	if len(rest) == 2 && rest[0] == contract.ContainerEndFlag {
		return endContainer(rest[1], environ)
	}
	if len(rest) > 1 && (rest[0] == contract.MakeFlag || rest[0] == contract.RemoveFlag) {
		return directoryMain(rest, environ)
	}
	if len(rest) == 1 && rest[0] == contract.LogFlag {
		return copyLog(0, 1, contract.LogDescriptor, contract.LogReadyDescriptor)
	}
	if len(rest) == 2 && strings.HasPrefix(rest[0], setupFailed) {
		return tellFailure(setupFailure(strings.TrimPrefix(rest[0], setupFailed)), rest[1])
	}
	later := []stage{afterLogin, afterLoginExposed, afterSetup, afterSetupExposed}
	if len(rest) == 2 && slices.Contains(later, stage(rest[0])) {
		r.stage = stage(rest[0])
		rest = rest[1:]
	}
	if len(rest) != 1 || strings.HasPrefix(rest[0], "-") {
		os.Stderr.WriteString("usage: gpusched-job SPEC (it is the first program of every job's unit; not for people)\n")
		return 2
	}
	r.self, r.path = args[0], rest[0]
	r.notify = newNotifier(environ)
	if runtimeDir, _, ok := strings.Cut(r.path, "/gpusched/"); ok && r.stage != first && r.notify.fd < 0 {
		// A file of the login shell has removed the variable. Without a message, the shell would seem to have exited.
		r.notify = newNotifier([]string{notifySocket + "=" + runtimeDir + "/systemd/notify"})
	}
	f := r.run()
	r.blameFileSystem(f)
	code := tellFailure(f, r.path)
	r.notify.send(f.message())
	return code
}

// checkCalls makes the system calls of a launch, except those on the user's own files, because such
// files may hang. It only shows whether the launcher survives the calls: it ignores errors, which
// the launch itself reports.
func (r *run) checkCalls(path string) int {
	s, err := Read(path)
	if err != nil {
		return 0
	}
	_, _ = r.nodes.prove(s)
	unix.Umask(s.Umask)
	_ = unix.Chdir("/")
	_ = r.inherit(&Spec{}, nil)
	n := newNotifier([]string{notifySocket + "=@"})
	n.send("")
	return 0
}

// tellFailure prints a failure and returns its exit status.
func tellFailure(f *Failure, path string) int {
	os.Stderr.WriteString("gpusched: job " + jobOf(path) + " could not start: " + f.Error() + "\n")
	return f.Step.ExitStatus()
}
