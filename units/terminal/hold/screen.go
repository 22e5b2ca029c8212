package hold

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

const (
	// firstShown is how long the command waits for the session, whose kind of terminal
	// it is to know.
	firstShown = 10 * time.Second
	// leaveTime is how long the session has to end once the command has, and again once
	// it was asked to.
	leaveTime = time.Second
	// mostSaid bounds what is kept of the messages of screen.
	mostSaid = 1 << 10
)

// session is one of GNU screen, whose only window shows the job's terminal. It is a child
// of the holder, and the command is not a child of it: what becomes of the session is no
// matter to the command's exit status and output.
type session struct {
	cmd   *exec.Cmd
	said  *said
	ended chan struct{}
}

// said is the beginning of what a program printed.
type said struct{ bytes.Buffer }

func (s *said) Write(p []byte) (int, error) {
	_, _ = s.Buffer.Write(p[:min(len(p), mostSaid-min(s.Len(), mostSaid))])
	return len(p), nil
}

// startSession starts screen. It does not die of the signals by which users warn their
// jobs; those that screen itself knows how to take are left to it.
func startSession(name, job string, environ []string) (*session, error) {
	program := ""
	for _, path := range contract.ScreenPrograms() {
		if unix.Access(path, unix.X_OK) == nil {
			program = path
			break
		}
	}
	if program == "" {
		return nil, errors.New("it is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &session{said: &said{}, ended: make(chan struct{})}
	s.cmd = exec.Command(program, "-U", "-D", "-m", "-S", name, self, contract.ScreenShowFlag, job)
	s.cmd.Env, s.cmd.WaitDelay = environ, leftOpen
	s.cmd.Stdout, s.cmd.Stderr = s.said, s.said
	signal.Ignore(syscall.SIGUSR1, syscall.SIGUSR2)
	err = s.cmd.Start()
	signal.Reset(syscall.SIGUSR1, syscall.SIGUSR2)
	if err != nil {
		return nil, err
	}
	go func() {
		_ = s.cmd.Wait() // the state tells
		close(s.ended)
	}()
	return s, nil
}

// startScreen starts the session, or says why there is none: the command runs all the same.
func (h *holder) startScreen(name string) {
	s, err := startSession(name, h.name, h.environ)
	if err != nil {
		tellNoSession(h.job, err.Error())
		return
	}
	h.screen = s
}

// commandEnviron is the command's environment, with the terminal that screen is to it.
func (h *holder) commandEnviron() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.shown {
		return h.environ
	}
	return append(slices.Clone(h.environ), "TERM="+h.term)
}

// over is closed when there is no session any more; never, where there was none.
func (s *session) over() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.ended
}

// hangUpWithScreen hangs up on the command pid when somebody quits the session or kills
// its window, as screen does with its programs. When it ends in another way, or never
// began, the job goes on.
func (h *holder) hangUpWithScreen(pid int, done <-chan struct{}) {
	select {
	case <-done:
		return
	case <-h.screen.over():
	}
	h.mu.Lock()
	shown := h.shown
	h.mu.Unlock()
	if shown && h.screen.cmd.ProcessState.Success() {
		_ = unix.Kill(-pid, syscall.SIGHUP)
		return
	}
	select {
	case <-done: // it was the end of the whole job
	case <-time.After(leaveTime):
		tellNoSession(h.job, h.screen.why())
	}
}

// why is how the session ended, in one line.
func (s *session) why() string {
	if text := strings.Join(strings.Fields(s.said.String()), " "); text != "" {
		return text
	}
	return s.cmd.ProcessState.String()
}

func tellNoSession(job, why string) {
	os.Stderr.WriteString("gpusched: this job has no session of GNU screen: " + why + "; it goes on, and 'gpusched attach " +
		job + "' is its terminal\n")
}

// finish sees to it that the session ends: one whose user has it keep dead windows, or
// has others in it, is asked to.
func (s *session) finish() {
	if s == nil {
		return
	}
	for _, how := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-s.ended:
			return
		case <-time.After(leaveTime):
			_ = s.cmd.Process.Signal(how)
		}
	}
	<-s.ended
}
