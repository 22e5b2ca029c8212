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

// keepLog copies the job's output to its log, in addition to the journal. If that fails, it says so
// in the output, and the job starts anyway.
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
			"; its output is only in the journal\n")
	}
}

// logPath returns the path of the log for the kernel, with the home directory in place of "~/".
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

// logPatience is the time for which the start of a job waits for its log. A network file system
// that hangs may never answer.
const logPatience = 10 * time.Second

type unanswered struct{}

func (unanswered) Error() string {
	return "its file system has not answered for " + strconv.Itoa(int(logPatience/time.Second)) + " s"
}

// inTime opens a file within a time limit. If the file opens after the limit, its descriptor is not
// passed on, and is therefore closed at the end of this process. No signal can end some waits, for
// example those for a frozen file system. Such a wait exceeds the limit, because the command can't
// replace this process before the wait ends.
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

// beginLog separates the attempt from the earlier content of the log.
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

// startCopy puts a process between the job's output and the journal. That process writes the output
// to the journal and to the log. Its parent is the service manager. If its parent were the command,
// the kernel would tell the command about the end of a child that the command does not know. The
// process sends no messages about the unit, and ends when the job has no process left that could
// print.
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

// forkCopy starts the copying process, and returns once signals can't end that process any more. A
// Go program takes some time to start, and its runtime undoes an ignored or blocked SIGTERM at the
// start. If forkCopy did not wait, a very short job could end while the program still starts. A
// signal that is sent to stop the job's unit would then end the copying process, and the contents
// of the pipe would be lost.
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
		err = errors.New("the program that writes it ended at once")
	}
	return pid, err
}
