package launch

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// hasHolder reports whether the command runs in a terminal that a process keeps for it.
func (s *Spec) hasHolder() bool { return s.TTY || s.Screen != "" }

// become replaces the process with the command, or with the process that keeps its terminal.
func (r *run) become(s *Spec, env []string, filtered bool) *Failure {
	argv := withCUDA(s, filtered)
	if s.hasHolder() {
		if path, err := execute(argv, env, foreseeError); err != nil && s.Screen != "" {
			return execFailure(argv, path, err)
		}
		argv = append(r.holder(s), argv...)
	}
	path, err := execute(argv, env, r.execSilent)
	return execFailure(argv, path, err)
}

// holder returns the command of the process that keeps a terminal. Its options are the settings
// that this process then makes for the job's command alone.
func (r *run) holder(s *Spec) []string {
	_, tight := splitLimits(s.SoftLimits)
	words := []string{r.self}
	if len(s.Aimed) > 0 {
		words = append(words, contract.AimedFlag, signalsWord(s.Aimed))
	}
	if !s.Container.IsZero() {
		words = append(words, contract.InsideFlag, r.path)
	}
	if s.Screen == "" {
		return append(words, contract.HoldFlag, limitsWord(tight))
	}
	return append(words, contract.ScreenFlag, limitsWord(tight), s.Screen)
}

// signalsWord encodes signals, for example as 10,15.
func signalsWord(list []int) string {
	words := make([]string, len(list))
	for i, signal := range list {
		words[i] = strconv.Itoa(signal)
	}
	return strings.Join(words, ",")
}

// setScreenDir sets SCREENDIR to the directory in which the user's own screen looks for the
// session, even if a set-up or a login shell has changed SCREENDIR. The process that cleans up
// after the job would not notice such a change.
func (e *environment) setScreenDir(s *Spec) {
	if s.Screen == "" {
		return
	}
	if dir := screenDir(s); dir != "" {
		e.set(contract.ScreenDirVariable, dir)
	} else {
		e.remove(contract.ScreenDirVariable)
	}
}

// screenDir returns the directory of the sockets of the submitter's screen; "" for the default.
func screenDir(s *Spec) string { return valueOf(s.Env, contract.ScreenDirVariable) }

// endScreen removes the dead sockets of the session. It runs as the job's user after the job's last
// process.
func endScreen(path string) int {
	s, err := Read(path)
	if err != nil || s.Screen == "" {
		return 0 // nobody would read an error
	}
	for _, dir := range screenDirs(s) {
		removeDead(dir, s.Screen)
	}
	return 0
}

// screenDirs returns the directories that may contain a user's sockets of screen.
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

// removeDead removes the dead sockets that sessions of this name have left in a directory. It
// removes no other files, and nothing in directories of other users.
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

// isSocketOf reports whether a file has the name of a session's socket: 4711.name.
func isSocketOf(file, name string) bool {
	i := 0
	for i < len(file) && file[i] >= '0' && file[i] <= '9' {
		i++
	}
	return i > 0 && file[i:] == "."+name
}

// deadSocket reports whether a file is the socket of a process that has ended. Some builds of
// screen use a pipe instead of a socket.
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
