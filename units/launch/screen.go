package launch

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// held reports whether the command is to run in a terminal that is held for it.
func (s *Spec) held() bool { return s.TTY || s.Screen != "" }

// become has the process be the command, or the holder of its terminal.
func (r *run) become(s *Spec, env []string, filtered bool) *Failure {
	argv := withCUDA(s, filtered)
	if s.held() {
		if path, err := execute(argv, env, foreseen); err != nil && s.Screen != "" {
			return execFailure(argv, path, err)
		}
		argv = append(r.holder(s), argv...)
	}
	path, err := execute(argv, env, r.execSilent)
	return execFailure(argv, path, err)
}

// holder is what holds a terminal, with what the command alone is to have.
func (r *run) holder(s *Spec) []string {
	_, tight := splitLimits(s.SoftLimits)
	words := []string{r.self}
	if len(s.Aimed) > 0 {
		words = append(words, contract.AimedFlag, signalsWord(s.Aimed))
	}
	if s.Screen == "" {
		return append(words, contract.HoldFlag, limitsWord(tight))
	}
	return append(words, contract.ScreenFlag, limitsWord(tight), s.Screen)
}

// signalsWord is a list of signals, such as 10,15.
func signalsWord(list []int) string {
	words := make([]string, len(list))
	for i, signal := range list {
		words[i] = strconv.Itoa(signal)
	}
	return strings.Join(words, ",")
}

// screen has the session where its user's own screen looks for it: what a set-up or a
// login shell makes of the variable is nothing that the end of the job could know.
func (e *environment) screen(s *Spec) {
	if s.Screen == "" {
		return
	}
	if dir := screenDir(s); dir != "" {
		e.set(contract.ScreenDirVariable, dir)
	} else {
		e.unset(contract.ScreenDirVariable)
	}
}

// screenDir is where the submitter's screen has its sockets; "" where it usually has.
func screenDir(s *Spec) string { return valueOf(s.Env, contract.ScreenDirVariable) }

// endScreen removes the sockets of the session that nobody listens at any more. It runs
// as the job's user after the job's last process.
func endScreen(path string) int {
	s, err := Read(path)
	if err != nil || s.Screen == "" {
		return 0 // there is nobody to tell
	}
	for _, dir := range screenDirs(s) {
		removeDead(dir, s.Screen)
	}
	return 0
}

// screenDirs are the directories in which a user's sockets can be.
func screenDirs(s *Spec) []string {
	if dir := screenDir(s); dir != "" {
		return []string{dir}
	}
	dirs := []string{"/run/screen/S-" + s.User, "/var/run/screen/S-" + s.User, "/tmp/screens/S-" + s.User, "/tmp/uscreens/S-" + s.User}
	if s.Home != "" {
		dirs = append(dirs, s.Home+"/.screen")
	}
	return dirs
}

// removeDead removes what a session of this name has left in a directory. Nothing is
// touched in one of another user's, nor what is not a socket, nor one that answers.
func removeDead(dir, name string) {
	var st unix.Stat_t
	if unix.Lstat(dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != unix.Geteuid() {
		return
	}
	names, err := systemNodes().list(dir)
	if err != nil {
		return
	}
	for _, file := range names {
		if path := dir + "/" + file; isSocketOf(file, name) && deadSocket(path) {
			_ = unix.Unlink(path)
		}
	}
}

// isSocketOf reports whether a file is named as the socket of a session: 4711.name.
func isSocketOf(file, name string) bool {
	i := 0
	for i < len(file) && file[i] >= '0' && file[i] <= '9' {
		i++
	}
	return i > 0 && file[i:] == "."+name
}

// deadSocket reports whether a file is the socket, or the pipe that some builds of screen
// have instead, of a process that is gone.
func deadSocket(path string) bool {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return false
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err == unix.ENXIO
	case unix.S_IFSOCK:
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return false
		}
		defer unix.Close(fd)
		return unix.Connect(fd, &unix.SockaddrUnix{Name: path}) == unix.ECONNREFUSED
	}
	return false
}
