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

// doorSocket is the descriptor at which a door listens, the first that the door inherits.
const doorSocket = 3

// doorTime is the time after which an unused door closes.
const doorTime = 30 * time.Second

// OpenDoor starts a door: a process that runs extra commands for a job without a terminal. It
// returns once the door listens. A variable says whether sandboxed processes may connect. The door
// reads it in its own environment, because the job's command may have removed the variable from the
// command's environment.
func OpenDoor(self, job, spec string, environ []string) int {
	fd, err := terminal.Listen(job)
	if err == nil {
		cmd := exec.Command(self, contract.DoorFlag, job, spec)
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

// Door runs extra commands for a job without a terminal. They get the environment, directory, umask
// and limits of the job's main process. The door ends when the main process ends, when the unit is
// stopped, or after doorTime without use.
func Door(self string, environ []string, limitsOf func(pid int) string, inside Entrance) int {
	unix.CloseOnExec(doorSocket)
	arriving := make(chan os.Signal, 16)
	signal.Notify(arriving, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	h := &holder{
		begun: make(chan struct{}), admits: isAdmitted, noTerminal: true, sandboxed: takesSandboxed(environ), inside: inside,
	}
	main := mainProcess(environ)
	h.environ = likeMain(main, environ)
	h.before = []string{self, contract.LimitFlag, limitsOf(main)}
	go h.accept(doorSocket, make(chan struct{}, 1))
	h.untilUnused(arriving, endOf(main))
	h.tellEnd(0)
	return 0
}

// mainProcess returns the unit's main process, according to systemd.
func mainProcess(environ []string) int {
	for _, kv := range environ {
		if text, ok := strings.CutPrefix(kv, "MAINPID="); ok {
			pid, _ := strconv.Atoi(text)
			return pid
		}
	}
	return 0
}

// likeMain adopts the directory and umask of the process pid, and returns the environment of that
// process. If that environment can't be read, for example because the kernel protects the program,
// likeMain returns the unit's environment.
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

// endOf returns a channel that is closed when a process has ended; nil if that can't be known.
func endOf(pid int) <-chan struct{} {
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

// untilUnused returns when a signal to end arrives, the job ends, or no command has run for
// doorTime.
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

// awaitBeside waits for the extra commands after they got SIGHUP. It kills those that do not end in
// time, because they keep the job's GPUs in use.
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
