package hold

import (
	"cmp"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// statusOutside is the exit status of a container that is not in its job's control group. It equals
// that of a launch without the device filter.
var statusOutside = contract.StepFilter.ExitStatus()

// Init is the first process of a container. It checks that the container is in the job's control
// group, runs the command argv, and returns the command's exit status. If the job is stopped, Init
// returns after the last process of the container has ended. If not, it returns when the command
// has ended, and the kernel then ends the processes that are left.
func Init(argv, environ []string) int {
	want, aimed := "", ""
	environ = slices.DeleteFunc(environ, func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		switch name {
		case contract.GroupVariable:
			want = value
		case contract.AimedVariable:
			aimed = value
		default:
			return false
		}
		return true
	})
	if text, err := os.ReadFile("/proc/self/cgroup"); err != nil || !isIn(string(text), want) {
		os.Stderr.WriteString("gpusched: the container is not in the control group of its job, " + want + ", but in " +
			cmp.Or(contract.SystemdGroup(string(text)), "an unknown one") + ": there its limits and its device filter have no effect, " +
			"so the command was not run (an option of --image-arg, or of containers.conf(5), may have moved it)\n")
		return statusOutside
	}
	arriving := make(chan os.Signal, 16)
	signal.Notify(arriving)
	cmd := command(argv, environ)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Foreground: true}
	}
	err := cmd.Start()
	if errors.Is(err, syscall.ENOEXEC) { // a script without an interpreter line, as for execvp
		script := command(append([]string{"/bin/sh", cmd.Path}, argv[1:]...), environ)
		script.Stdin, script.Stdout, script.Stderr = os.Stdin, os.Stdout, os.Stderr
		script.SysProcAttr = cmd.SysProcAttr
		cmd, err = script, script.Start()
	}
	if err != nil {
		os.Stderr.WriteString("gpusched: the command could not be run in the container: " + err.Error() + "\n")
		if errors.Is(err, os.ErrPermission) {
			return statusNotRun - 1
		}
		return statusNotRun
	}
	return attend(cmd.Process.Pid, arriving, strings.Split(aimed, ","))
}

// isIn reports whether the text of a process's file cgroup in /proc shows that the process is in a
// control group, or below it.
func isIn(text, group string) bool {
	have, below := strings.CutPrefix(contract.SystemdGroup(text), group)
	return below && group != "" && (have == "" || have[0] == '/')
}

// attend passes arriving signals on until the command pid has ended, or after a SIGTERM until no
// process is left. It returns the command's exit status. A SIGTERM may end the command before this
// process sees it. So attend sends itself another signal when the command has ended: a SIGTERM that
// came before the end is seen before that.
func attend(pid int, arriving <-chan os.Signal, aimed []string) int {
	const later = syscall.SIGWINCH // has a higher number than SIGTERM, and is for nobody here
	ends, seen := make(chan int), make(chan os.Signal, 1)
	signal.Notify(seen, later)
	go reap(pid, ends)
	status, stopping := -1, false
	for last := false; !last || stopping || len(arriving) > 0; {
		select {
		case s := <-arriving:
			stopping = stopping || s == syscall.SIGTERM
			pass(pid, s.(syscall.Signal), aimed)
		case how, left := <-ends:
			if !left {
				return status
			}
			status = how
			_ = unix.Kill(os.Getpid(), later)
		case <-seen:
			last = status >= 0
		}
	}
	return status
}

// reap waits for every process of the container as it ends. It sends the exit status of the command
// pid, and closes the channel when no process is left.
func reap(pid int, ends chan<- int) {
	for {
		var how syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &how, 0, nil)
		if err != nil && err != syscall.EINTR {
			close(ends)
			return
		}
		if err == nil && ended == pid && !how.Stopped() {
			ends <- statusOf(how)
		}
	}
}

// pass sends a signal that arrived to the processes of the container. It sends a signal that is
// meant for the unit's main process to the command alone. SIGTERM is not passed on, because it
// arrives at every process by itself, whether a stop or somebody sends it. All other signals for
// the container arrive only through Podman, because conmon, Podman's process in the unit, would die
// of them; pass sends these signals to every process.
func pass(pid int, s syscall.Signal, aimed []string) {
	switch {
	case slices.Contains(aimed, strconv.Itoa(int(s))):
		_ = unix.Kill(pid, s)
	case s == syscall.SIGTERM && ignoresTerm(pid):
		_ = unix.Kill(-pid, syscall.SIGHUP)
	case isRelayed(s):
		_ = unix.Kill(-1, s)
	}
}
