package launch

import (
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
	file, err := inTime(logPatience, func() (int, error) { return openLog(path, s.Log.Truncate && s.Attempt <= 1) })
	if err == nil {
		defer unix.Close(file)
		beginLog(file, jobOf(r.path), s)
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

type notOwn struct{}

func (notOwn) Error() string { return "it belongs to another user, who could read it" }

type notRegular struct{}

func (notRegular) Error() string { return "it is not a regular file" }

// logPatience is how long the start of a job waits for its log: a network file system that
// hangs answers nobody, perhaps for ever.
const logPatience = 10 * time.Second

type unanswered struct{}

func (unanswered) Error() string {
	return "its file system has not answered for " + strconv.Itoa(int(logPatience/time.Second)) + " s"
}

// inTime opens a file, unless that takes longer. What it comes to then is closed with this
// process, or by whoever waits for it: the descriptor is not passed on.
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

// openLog opens a file to append to, and makes it and its directory where they are
// missing. This process is the job's user, so that the kernel judges every path. What is
// not a file is not opened, nor waited for.
func openLog(path string, truncate bool) (fd int, err error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		return -1, notRegular{}
	}
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_APPEND | unix.O_NOCTTY | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err = unix.Open(path, flags, 0o666)
	if err == unix.ENOENT {
		makeDirs(filepath.Dir(path))
		fd, err = unix.Open(path, flags, 0o666)
	}
	if err != nil {
		return -1, err
	}
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return -1, notRegular{}
	}
	if int(st.Uid) != unix.Geteuid() { // job ids are easily foretold, and so are the names of logs
		unix.Close(fd)
		return -1, notOwn{}
	}
	if truncate {
		err = unix.Ftruncate(fd, 0)
	}
	return fd, err
}

// makeDirs makes a directory and those above it that are missing.
func makeDirs(dir string) {
	if unix.Mkdir(dir, 0o777) == unix.ENOENT && filepath.Dir(dir) != dir {
		makeDirs(filepath.Dir(dir))
		_ = unix.Mkdir(dir, 0o777)
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
	_, err := syscall.ForkExec(self, []string{self, contract.LogFlag}, &syscall.ProcAttr{
		Dir: "/", Env: []string{}, Files: []uintptr{uintptr(pipe[0]), 1, 1, uintptr(file)},
		Sys: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_PARENT},
	})
	if err != nil {
		return err
	}
	for fd := 1; fd <= 2; fd++ {
		if err := unix.Dup3(pipe[1], fd, 0); err != nil {
			return err
		}
	}
	return nil
}
