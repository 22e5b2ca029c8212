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
	// firstShown is the time for which the command waits for the session, whose TERM it needs.
	firstShown = 10 * time.Second
	// leaveTime limits each wait for the end of the session: after the end of the command, and
	// after each signal to the session.
	leaveTime = time.Second
	// mostSaid limits the number of bytes of screen's messages that are kept.
	mostSaid = 1 << 10
)

// session is a GNU screen session with one window, which shows the job's terminal. The session is a
// child of the holder, but the command is not a child of the session. So the session does not
// affect the command's exit status and output.
type session struct {
	cmd   *exec.Cmd
	said  *firstOutput
	ended chan struct{}
}

// firstOutput is the beginning of a program's output.
type firstOutput struct{ bytes.Buffer }

func (s *firstOutput) Write(p []byte) (int, error) {
	_, _ = s.Buffer.Write(p[:min(len(p), mostSaid-min(s.Len(), mostSaid))])
	return len(p), nil
}

// startSession starts screen. It makes screen ignore the signals with which users warn their jobs
// (SIGUSR1 and SIGUSR2), and does not change how screen handles other signals.
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
	s := &session{said: &firstOutput{}, ended: make(chan struct{})}
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
		_ = s.cmd.Wait() // ProcessState has the result
		close(s.ended)
	}()
	return s, nil
}

// startScreen starts the session. If that fails, the job's output says why, and the command runs
// anyway.
func (h *holder) startScreen(name string) {
	s, err := startSession(name, h.name, h.environ)
	if err != nil {
		tellNoSession(h.job, err.Error())
		return
	}
	h.screen = s
}

// commandEnviron returns the command's environment, with screen's TERM if the session shows the
// terminal.
func (h *holder) commandEnviron() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.shown {
		return h.environ
	}
	return append(slices.Clone(h.environ), "TERM="+h.term)
}

// whenEnded returns a channel that is closed when the session has ended; nil if there was none.
func (s *session) whenEnded() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.ended
}

// hangUpWithScreen sends SIGHUP to the command pid when somebody quits the session or kills its
// window, as screen does to the programs in its windows. If the session ends in another way, or
// never began, the job continues.
func (h *holder) hangUpWithScreen(pid int, done <-chan struct{}) {
	select {
	case <-done:
		return
	case <-h.screen.whenEnded():
	}
	h.mu.Lock()
	shown := h.shown
	h.mu.Unlock()
	if shown && h.screen.cmd.ProcessState.Success() {
		_ = unix.Kill(-pid, syscall.SIGHUP)
		return
	}
	select {
	case <-done: // the whole job has ended
	case <-time.After(leaveTime):
		tellNoSession(h.job, h.screen.howEnded())
	}
}

// howEnded returns how the session ended, in one line.
func (s *session) howEnded() string {
	if text := strings.Join(strings.Fields(s.said.String()), " "); text != "" {
		return text
	}
	return s.cmd.ProcessState.String()
}

func tellNoSession(job, why string) {
	os.Stderr.WriteString("gpusched: this job has no session of GNU screen: " + why + "; it continues, and 'gpusched attach " +
		job + "' shows its terminal\n")
}

// finish makes the session end. It sends signals to a session that keeps dead windows or has other
// windows.
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
