package hold

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/terminal"
)

const (
	// firstClient is how long the command waits for who started it to attach, so that
	// it begins in a terminal of the right size.
	firstClient = time.Second
	// lastWords is how long clients have for what the command printed last.
	lastWords = 2 * time.Second
	// leftOpen is how long output is waited for after the end of the command, where
	// something that it left behind keeps the terminal open.
	leftOpen = 200 * time.Millisecond
)

// statusNotRun is what a shell gives for a command that it can't run.
const statusNotRun = 127

// Main runs the command argv of the job whose environment this is in a terminal, and
// ends as it does. The words before are put before each command that it runs: a program
// that sets what is the command's alone. The signals in aimed, a list such as 10,15, come
// to this process alone and are for the command. With the name of a session of GNU screen
// there is one that shows the terminal.
func Main(argv, before, environ []string, session, aimed string) int {
	job, name := "0", "" // by hand, in no job
	for _, kv := range environ {
		if id, ok := strings.CutPrefix(kv, "GPUSCHED_JOB_ID="); ok {
			job = id
		}
		if other, ok := strings.CutPrefix(kv, contract.TerminalVariable+"="); ok {
			name = other
		}
	}
	name = cmp.Or(name, job)
	h := &holder{
		rows: 24, cols: 80, before: before, environ: environ, output: &journal{w: os.Stdout},
		begun: make(chan struct{}), admits: admitted, job: job, name: name,
		sandboxed: takesSandboxed(environ),
	}
	fd, err := terminal.Listen(name)
	if err != nil {
		os.Stderr.WriteString("gpusched: nobody can attach to this job: " + err.Error() + "\n")
	} else if session != "" {
		h.startScreen(session)
	}
	arriving := make(chan os.Signal, 16)
	signal.Notify(arriving) // those of the job are for the command; a child has them at their defaults
	if err == nil {
		attached := make(chan struct{}, 1)
		go h.accept(fd, attached)
		if stop := h.awaitClient(attached, arriving); stop != 0 {
			close(h.begun)
			h.end(128 + int(stop))
			h.screen.finish()
			return finish(syscall.WaitStatus(stop))
		}
	}
	state, err := h.run(argv, arriving, strings.Split(aimed, ","))
	h.screen.finish()
	if err != nil {
		os.Stderr.WriteString("gpusched: the command could not be run: " + err.Error() + "\n")
		return statusNotRun
	}
	return finish(state)
}

// awaitClient returns when somebody has attached or nobody is waited for any more, or
// the signal by which the job was ended before its command began.
func (h *holder) awaitClient(attached <-chan struct{}, arriving <-chan os.Signal) (stop syscall.Signal) {
	within := firstClient
	if h.screen != nil {
		within = firstShown
	}
	late := time.After(within)
	for {
		select {
		case <-attached:
			return 0
		case <-late:
			return 0
		case <-h.screen.over():
			return 0
		case s := <-arriving:
			if ends(s) {
				return s.(syscall.Signal)
			}
		}
	}
}

// ends reports whether a signal is one by which jobs are ended.
func ends(s os.Signal) bool {
	return s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

// run is the command's whole life.
func (h *holder) run(argv []string, arriving <-chan os.Signal, aimed []string) (syscall.WaitStatus, error) {
	cmd, master, err := inTerminal(slices.Concat(h.before, argv), h.commandEnviron(), h.size())
	if err != nil {
		close(h.begun)
		h.end(statusNotRun)
		return 0, err
	}
	h.mu.Lock()
	h.master = master
	h.mu.Unlock()
	close(h.begun)
	for len(arriving) > 0 { // what came before the command was there
		if s := <-arriving; ends(s) {
			_ = unix.Kill(-cmd.Process.Pid, s.(syscall.Signal))
		}
	}
	go hangUp(cmd.Process.Pid, arriving, aimed)
	if done := make(chan struct{}); h.screen != nil {
		defer close(done)
		go h.hangUpWithScreen(cmd.Process.Pid, done)
	}
	shown := make(chan struct{})
	go func() {
		h.copyFrom(master)
		close(shown)
	}()
	_ = cmd.Wait() // the state tells
	awaitRest(shown)
	state := cmd.ProcessState.Sys().(syscall.WaitStatus)
	h.end(statusOf(state))
	awaitRest(shown) // one who did not read held it up till now
	return state, nil
}

// awaitRest waits for the rest of what the terminal shows.
func awaitRest(shown <-chan struct{}) {
	select {
	case <-shown:
	case <-time.After(leftOpen):
	}
}

// inTerminal begins a command in a terminal of its own, of which it returns the master.
func inTerminal(argv, environ []string, size pty.Winsize) (*exec.Cmd, *os.File, error) {
	cmd := command(argv, environ)
	master, err := pty.StartWithSize(cmd, &size)
	if errors.Is(err, syscall.ENOEXEC) { // a script without an interpreter line, as for execvp
		cmd = command(append([]string{"/bin/sh", cmd.Path}, argv[1:]...), environ)
		master, err = pty.StartWithSize(cmd, &size)
	}
	return cmd, master, err
}

// command looks argv up as a shell does.
func command(argv, environ []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	if errors.Is(cmd.Err, exec.ErrDot) {
		cmd.Err = nil // a PATH that has the current directory means it
	}
	cmd.Env = environ
	return cmd
}
