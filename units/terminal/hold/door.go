package hold

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/terminal"
)

// doorSocket is the descriptor at which a door listens: the first that was handed down.
const doorSocket = 3

// doorTime is how long a door stays open that nobody uses.
const doorTime = 30 * time.Second

// OpenDoor leaves a process behind that listens for commands to run beside that of a job
// without a terminal, and returns when it listens. Its environment says whether who is in a
// sandbox may come in: the command may have dropped what it was started with.
func OpenDoor(self, job string, environ []string) int {
	fd, err := terminal.Listen(job)
	if err == nil {
		cmd := exec.Command(self, contract.DoorFlag, job)
		cmd.ExtraFiles = []*os.File{os.NewFile(uintptr(fd), "door")}
		cmd.Stderr, cmd.Env = os.Stderr, environ
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err = cmd.Start()
	}
	if err != nil {
		os.Stderr.WriteString("gpusched: no command can be run beside this job's: " + err.Error() + "\n")
		return 1
	}
	return 0
}

// Door runs commands beside that of a job without a terminal, with what its main process
// has: its environment, directory, umask and limits. It ends with that process, when the
// unit is stopped, or when nobody has used it for doorTime.
func Door(self string, environ []string, limitsOf func(pid int) string) int {
	unix.CloseOnExec(doorSocket)
	arriving := make(chan os.Signal, 16)
	signal.Notify(arriving, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	h := &holder{begun: make(chan struct{}), admits: admitted, noTerminal: true, sandboxed: takesSandboxed(environ)}
	main := mainProcess(environ)
	h.environ = likeMain(main, environ)
	h.before = []string{self, contract.LimitFlag, limitsOf(main)}
	go h.accept(doorSocket, make(chan struct{}, 1))
	h.untilUnused(arriving, gone(main))
	h.end(0)
	return 0
}

// mainProcess is that of the unit, as systemd says.
func mainProcess(environ []string) int {
	for _, kv := range environ {
		if text, ok := strings.CutPrefix(kv, "MAINPID="); ok {
			pid, _ := strconv.Atoi(text)
			return pid
		}
	}
	return 0
}

// likeMain takes over the directory and umask of a process, and returns its environment.
// Where that can't be read, as of a program that the kernel keeps from being looked
// into, it is that of the unit.
func likeMain(pid int, environ []string) []string {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	if err := os.Chdir(filepath.Join(dir, "cwd")); err != nil {
		_ = os.Chdir("/")
	}
	status, _ := os.ReadFile(filepath.Join(dir, "status"))
	_, rest, _ := bytes.Cut(status, []byte("\nUmask:\t"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	if mask, err := strconv.ParseUint(string(line), 8, 32); err == nil {
		unix.Umask(int(mask))
	}
	text, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err == nil && len(text) > 0 {
		return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	}
	if err == nil {
		err = errors.New("it is empty")
	}
	os.Stderr.WriteString("gpusched: commands beside this job's have the environment of its unit, because that of its process can't be read: " +
		err.Error() + "\n")
	var own []string
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); name != "MAINPID" && name != "NOTIFY_SOCKET" {
			own = append(own, kv)
		}
	}
	return own
}

// gone returns what is closed when a process has ended; nil where that can't be told.
func gone(pid int) <-chan struct{} {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil
	}
	ended := make(chan struct{})
	go func() {
		for {
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err != unix.EINTR {
				close(ended)
				return
			}
		}
	}()
	return ended
}

// untilUnused returns when a signal to end has come, the job has ended, or nothing has
// run for doorTime.
func (h *holder) untilUnused(arriving <-chan os.Signal, over <-chan struct{}) {
	for used := time.Now(); time.Since(used) < doorTime; {
		select {
		case <-arriving:
			return
		case <-over:
			return
		case <-time.After(doorTime / 10):
		}
		if h.running() > 0 {
			used = time.Now()
		}
	}
}

func (h *holder) running() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.beside)
}

// awaitBeside gives what runs beside the job's command a time to end after it was hung up
// on, and kills it then: the job's GPUs wait for it.
func (h *holder) awaitBeside() {
	for late := time.Now().Add(hangUpTime); h.running() > 0 && time.Now().Before(late); {
		time.Sleep(10 * time.Millisecond)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for b := range h.beside {
		b.signal(syscall.SIGKILL)
	}
}
