package launch

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// keepLog has what the job prints also go to its log. Where that is not possible, it is
// said and the job starts all the same: its output is in the journal.
func (r *run) keepLog(s *Spec) {
	path := logPath(s, r.base)
	file, err := inTime(logPatience, func() (int, error) {
		file, err := openLog(path, s.Log.Truncate && s.Attempt <= 1)
		if err == nil {
			beginLog(file, jobOf(r.path), s)
		}
		return file, err
	})
	if err == nil {
		defer unix.Close(file)
		err = startCopy(r.self, file)
	}
	if err != nil {
		os.Stderr.WriteString("gpusched: the job's log " + strconv.Quote(shorten(path)) + " could not be opened: " + err.Error() +
			"; its output is in the journal alone\n")
	}
}

// logPath is the path of the log as the kernel takes it.
func logPath(s *Spec, base []string) string {
	rest, ofHome := strings.CutPrefix(s.Log.Path, "~/")
	if !ofHome {
		return s.Log.Path
	}
	home := s.Home
	for _, kv := range base {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok && v != "" {
			home = v
		}
	}
	return filepath.Join("/", home, rest)
}

// logPatience is how long the start of a job waits for its log: a network file system that
// hangs answers nobody, perhaps for ever.
const logPatience = 10 * time.Second

type unanswered struct{}

func (unanswered) Error() string {
	return "its file system has not answered for " + strconv.Itoa(int(logPatience/time.Second)) + " s"
}

// inTime opens a file, unless that takes longer. What it comes to then is closed with this
// process, or by whoever waits for it: the descriptor is not passed on. A wait that no
// signal ends, as for a frozen file system, outlives the limit: the command can't take this
// process over before.
func inTime(limit time.Duration, open func() (int, error)) (fd int, err error) {
	type opened struct {
		fd  int
		err error
	}
	done := make(chan opened, 1)
	go func() {
		fd, err := open()
		done <- opened{fd, err}
	}()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case o := <-done:
		return o.fd, o.err
	case <-late.C:
		return -1, unanswered{}
	}
}

// beginLog tells the attempt from what is in the log already.
func beginLog(fd int, id string, s *Spec) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Size > 0 {
		name := id
		if s.ArrayJob > 0 {
			name = strconv.FormatInt(s.ArrayJob, 10) + "_" + strconv.Itoa(s.ArrayTask)
		}
		_, _ = unix.Write(fd, []byte(contract.AttemptLine(name, strconv.Itoa(s.Attempt))))
	}
}

// startCopy puts a process between the job's output and the journal that writes to the
// log as well. It is a child of the service manager, not of the command, which would
// otherwise meet the end of a child that it knows nothing of; it has no voice in the
// unit, and ends when nothing of the job is left that could print.
func startCopy(self string, file int) error {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	if _, err := forkCopy(self, pipe[0], 1, file); err != nil {
		return err
	}
	for fd := 1; fd <= 2; fd++ {
		if err := unix.Dup3(pipe[1], fd, 0); err != nil {
			return err
		}
	}
	return nil
}

// forkCopy returns once the copier is deaf to signals. A job of milliseconds is over and its
// unit told to end before a Go program has come so far, and what is in the pipe would be
// lost; neither an ignored nor a blocked SIGTERM outlives the beginning of Go's runtime.
func forkCopy(self string, in, out, file int) (pid int, err error) {
	var ready [2]int
	if err := unix.Pipe2(ready[:], unix.O_CLOEXEC); err != nil {
		return 0, err
	}
	defer unix.Close(ready[0])
	pid, err = syscall.ForkExec(self, []string{self, contract.LogFlag}, &syscall.ProcAttr{
		Dir: "/", Env: []string{},
		Files: []uintptr{uintptr(in), uintptr(out), uintptr(out), uintptr(file), uintptr(ready[1])},
		Sys:   &syscall.SysProcAttr{Cloneflags: syscall.CLONE_PARENT},
	})
	unix.Close(ready[1])
	if err != nil {
		return 0, err
	}
	n, err := unix.Read(ready[0], make([]byte, 1))
	for err == unix.EINTR {
		n, err = unix.Read(ready[0], make([]byte, 1))
	}
	if n == 0 && err == nil {
		err = errors.New("what writes it has ended at once")
	}
	return pid, err
}
