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

// firstClient is the time for which the command waits for its first client. With a client, the
// command begins in a terminal of the right size. Tests change it.
var firstClient = time.Second

const (
	// lastWords limits the time for which the holder waits until clients have read the last output.
	lastWords = 2 * time.Second
	// leftOpen is the time to wait for output after the end of the command, if another process
	// keeps the terminal open.
	leftOpen = 200 * time.Millisecond
	// restTime limits the time for which the holder waits, after the end of the command, until
	// clients and the journal have room for the output. journald may hang.
	restTime = 10 * time.Second
)

// statusNotRun is a shell's exit status for a command that it can't run.
const statusNotRun = 127

// Main runs the command argv in a terminal, for the job that environ describes, and ends as the
// command does. In front of each command, Main puts the argument prefix: a program that sets what
// applies to the commands and not to the holder. The argument signals, such as 10,15, lists the
// signals that only this process gets; Main passes them on to the command. If the argument session
// is not "", a GNU screen session of that name shows the terminal. If the command runs a container,
// the argument inside is the Entrance for extra commands.
func Main(argv, prefix, environ []string, session, signals string, inside Entrance) int {
	job, name := "0", "" // if a user started it outside a job
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
		rows: 24, cols: 80, before: prefix, environ: environ, output: &journal{w: os.Stdout},
		begun: make(chan struct{}), admits: isAdmitted, job: job, name: name,
		sandboxed: takesSandboxed(environ), inside: inside,
	}
	if inside != nil {
		keepOpen()
	}
	fd, err := terminal.Listen(name)
	if err != nil {
		os.Stderr.WriteString("gpusched: nobody can attach to this job: " + err.Error() + "\n")
	} else if session != "" {
		h.startScreen(session)
	}
	arriving := make(chan os.Signal, 16)
	signal.Notify(arriving) // the job's signals are for the command; as a child, the command gets their default actions
	if err == nil {
		attached := make(chan struct{}, 1)
		go h.accept(fd, attached)
		if stop := h.awaitClient(attached, arriving); stop != 0 {
			close(h.begun)
			h.tellEnd(128 + int(stop))
			h.screen.finish()
			return finish(syscall.WaitStatus(stop))
		}
	}
	state, err := h.run(argv, arriving, strings.Split(signals, ","))
	h.screen.finish()
	if err != nil {
		os.Stderr.WriteString("gpusched: the command could not be run: " + err.Error() + "\n")
		return statusNotRun
	}
	return finish(state)
}

// awaitClient returns once a client has attached or the wait is over. If a signal ended the job
// before its command began, awaitClient returns that signal, otherwise 0.
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
		case <-h.screen.whenEnded():
			return 0
		case s := <-arriving:
			if endsJob(s) {
				return s.(syscall.Signal)
			}
		}
	}
}

// endsJob reports whether the signal is one that ends jobs.
func endsJob(s os.Signal) bool {
	return s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

// run runs the command from start to end.
func (h *holder) run(argv []string, arriving <-chan os.Signal, aimed []string) (syscall.WaitStatus, error) {
	cmd, master, err := inTerminal(slices.Concat(h.before, argv), h.commandEnviron(), h.size())
	if err != nil {
		close(h.begun)
		h.tellEnd(statusNotRun)
		return 0, err
	}
	h.mu.Lock()
	h.master = master
	h.mu.Unlock()
	close(h.begun)
	for len(arriving) > 0 { // signals that arrived before the command existed
		if s := <-arriving; endsJob(s) {
			_ = unix.Kill(-cmd.Process.Pid, s.(syscall.Signal))
		}
	}
	go hangUp(cmd.Process.Pid, arriving, aimed, h.inside != nil)
	if done := make(chan struct{}); h.screen != nil {
		defer close(done)
		go h.hangUpWithScreen(cmd.Process.Pid, done)
	}
	shown := make(chan struct{})
	go func() {
		copyOutput(master, h.show)
		close(shown)
	}()
	_ = cmd.Wait() // ProcessState has the result
	_ = master.SetReadDeadline(time.Now().Add(leftOpen))
	select {
	case <-shown:
	case <-time.After(restTime):
	}
	state := cmd.ProcessState.Sys().(syscall.WaitStatus)
	h.tellEnd(statusOf(state))
	return state, nil
}

// inTerminal starts a command in a new terminal, and returns the master of that terminal.
func inTerminal(argv, environ []string, size pty.Winsize) (*exec.Cmd, *os.File, error) {
	cmd := command(argv, environ)
	master, err := pty.StartWithSize(cmd, &size)
	if errors.Is(err, syscall.ENOEXEC) { // a script without an interpreter line, as for execvp
		cmd = command(append([]string{"/bin/sh", cmd.Path}, argv[1:]...), environ)
		master, err = pty.StartWithSize(cmd, &size)
	}
	if err == nil { // the package pty makes reads block, whatever their deadline
		err = control(master, func(fd int) error { return unix.SetNonblock(fd, true) })
	}
	return cmd, master, err
}

// setSize sets the size of a terminal. Reads keep their deadlines, unlike after pty.Setsize.
func setSize(master *os.File, rows, cols uint16) {
	_ = control(master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	})
}

// command finds the program of a command as a shell does.
func command(argv, environ []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	if errors.Is(cmd.Err, exec.ErrDot) {
		cmd.Err = nil // if PATH contains the current directory, its programs may run
	}
	cmd.Env = environ
	return cmd
}
