package launch

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// contain replaces this process with the engine that runs the command in a container.
func (r *run) contain(s *Spec, filtered bool) *Failure {
	if !filtered {
		r.notify.send("STATUS=" + contract.StatusUnfiltered)
	}
	b := newBox(s, filtered, r.surroundings())
	for _, line := range b.say {
		os.Stderr.WriteString("gpusched: " + line + "\n")
	}
	argv, env := b.start()
	if b.Engine == contract.Podman {
		argv = append([]string{r.self, contract.EngineFlag, signalsWord(s.Aimed)}, argv...)
	}
	under := *s
	under.Argv, under.Setup.CUDAArg = argv, false // the box has added --cuda
	if s.hasHolder() {
		under.SoftLimits, _ = splitLimits(s.SoftLimits)
	}
	if f := r.inherit(&under, env); f != nil {
		return f
	}
	kept := -1
	if b.runtime != "" {
		kept = b.keepForEnd(s, r.path)
	}
	if f := b.prepare(runChild); f != nil {
		return f
	}
	if b.Engine == contract.Podman {
		b.sweep(runChild, r.path)
	}
	_, _ = unix.FcntlInt(uintptr(kept), unix.F_SETFD, 0) // the main process keeps it open
	return r.become(&under, env, filtered)
}

// surroundings returns what the box of a job takes from this machine.
func (r *run) surroundings() *surroundings {
	exists := func(path string) bool { return unix.Access(path, unix.F_OK) == nil }
	group := controlGroup()
	return &surroundings{
		self: r.self, group: group, tasks: tasksOf(group), base: r.base,
		cdi: cdiFiles(), free: portFree, ids: ownIDs(), exists: exists,
	}
}

// tasksOf returns the limit of the processes and threads of a control group, or "" if it has none.
func tasksOf(group string) string {
	text, _ := os.ReadFile(filepath.Join("/sys/fs/cgroup", group, "pids.max"))
	if limit := strings.TrimSpace(string(text)); limit != "max" {
		return limit
	}
	return ""
}

// controlGroup returns the control group of this process in systemd's hierarchy.
func controlGroup() string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	return contract.SystemdGroup(string(text))
}

// maxCDI is the size up to which a CDI file is read.
const maxCDI = 4 << 20

// cdiFiles returns the texts of the files in which a machine describes its GPUs to engines.
func cdiFiles() (texts []string) {
	for _, dir := range []string{"/etc/cdi", "/run/cdi"} {
		names, _ := systemNodes().list(dir)
		for _, name := range names {
			if ext := filepath.Ext(name); ext != ".yaml" && ext != ".json" {
				continue // engines do not read it
			}
			f, err := os.Open(filepath.Join(dir, name))
			if err != nil {
				continue
			}
			text, _ := io.ReadAll(io.LimitReader(f, maxCDI))
			f.Close()
			texts = append(texts, string(text))
		}
	}
	return texts
}

// A runner runs a command to its end and returns the exit status. If the argument quiet is true,
// the runner also returns what the command printed; otherwise the command prints to the job's
// output.
type runner func(argv, env []string, quiet bool) (status int, printed string, err error)

// prepare gets the engine ready for the container: it removes what killed containers left, and
// pulls the image if it is not there.
func (b *box) prepare(run runner) *Failure {
	switch b.Engine {
	case contract.Docker:
		return b.prepareDocker(run)
	case contract.Apptainer:
		return nil // Apptainer keeps no state, and pulls by itself
	}
	status, err := b.heal(run, "image", "exists", b.Image)
	switch {
	case err != nil:
		return &Failure{Step: contract.StepContainer, What: "Podman, which runs its container, does not work here", Err: err,
			Next: "'gpusched doctor' tells what Podman needs; try 'podman info'"}
	case status == 0:
		return nil
	}
	return b.pull(run, b.podman("pull", b.Image), b.outsideOfPull())
}

// pull runs the command that pulls the image. The job's output has its progress.
func (b *box) pull(run runner, argv, env []string) *Failure {
	os.Stderr.WriteString("gpusched: the image " + shorten(b.Image) + " is not here yet: " + argv[0] + " pull\n")
	status, _, err := run(argv, env, false)
	if err == nil && status != 0 {
		err = statusError(status)
	}
	if err == nil {
		return nil
	}
	return &Failure{Step: contract.StepContainer, What: "its image " + strconv.Quote(shorten(b.Image)) + " could not be pulled", Err: err,
		Next: "see what was printed above (--image)"}
}

// outsideOfPull returns the environment in which Podman pulls an image. 'podman login' stores the
// user's passwords in a file in the session's directory. In a job Podman does not look there, so
// the environment names that file.
func (b *box) outsideOfPull() []string {
	logins := "/run/user/" + strconv.Itoa(os.Geteuid()) + "/containers/auth.json"
	if valueOf(b.outside, "REGISTRY_AUTH_FILE") != "" || unix.Access(logins, unix.R_OK) != nil {
		return b.outside
	}
	return append(b.outside, "REGISTRY_AUTH_FILE="+logins)
}

// heal runs a command of Podman. If a killed job has left Podman in a state in which it refuses
// every command, heal ends that state and runs the command again. While Podman is in that state, no
// other container of the user's jobs runs. The lock keeps other jobs from starting one, because
// 'podman system migrate' would end it. An exit status up to 1 is an answer; a greater one is an
// error.
func (b *box) heal(run runner, words ...string) (status int, err error) {
	defer b.lock()()
	for try := 0; ; try++ {
		status, printed, err := run(b.podman(words...), b.outside, true)
		switch {
		case err != nil || status == 0 || status == 1 && !isStuck(printed):
			return status, err
		case try == 2:
			return status, errors.New(lastLine(printed, status))
		case isStuck(printed):
			_, _, _ = run(b.podman("system", "migrate"), b.outside, true) // its exit status says little
		}
	}
}

// lock makes other jobs of the user wait until the function that it returns is called.
func (b *box) lock() (unlock func()) {
	fd, err := unix.Open(b.runtime, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return func() {}
	}
	_ = unix.Flock(fd, unix.LOCK_EX)
	return func() { unix.Close(fd) }
}

// isStuck reports whether Podman refuses every command because the process that keeps the user's
// namespace has been killed.
func isStuck(printed string) bool { return strings.Contains(printed, "invalid internal status") }

// lastLine returns the last line that a command printed, or its exit status.
func lastLine(printed string, status int) string {
	text := strings.TrimSpace(printed)
	if text == "" {
		return statusError(status).Error()
	}
	return shorten(text[strings.LastIndexByte(text, '\n')+1:])
}

func statusError(status int) error { return errors.New("exit status " + strconv.Itoa(status)) }

// keepForEnd keeps what endContainer needs, because the daemon removes the spec before it stops a
// unit. The file stays open and locked as long as the main process of the unit runs.
func (b *box) keepForEnd(s *Spec, path string) (fd int) {
	kept := &Spec{JobID: s.JobID, Attempt: s.Attempt, Program: contract.Program{Container: s.Container}}
	fd, err := unix.Open(b.keptForEnd(path), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		err = unix.Flock(fd, unix.LOCK_EX)
	}
	if err == nil {
		_, err = unix.Write(fd, Encode(kept))
	}
	if err != nil {
		os.Stderr.WriteString("gpusched: the job's container may be left after the job: " + err.Error() + "\n")
	}
	return fd
}

// sweep removes the containers of jobs that have ended without endContainer: if somebody kills all
// processes of a unit, systemd may run nothing afterwards.
func (b *box) sweep(run runner, path string) {
	names, _ := systemNodes().list(b.runtime)
	for _, name := range names {
		id, attempt, ok := parseFileName(name)
		if !ok || name == filepath.Base(path) {
			continue
		}
		file := filepath.Join(b.runtime, name)
		fd, err := unix.Open(file, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			if _, err := Read(file); err == nil {
				_, _ = b.heal(run, "rm", "--force", "--time=0", "--ignore", containerName(&Spec{JobID: id, Attempt: attempt}))
				_ = os.Remove(file)
			}
		}
		unix.Close(fd)
	}
}

// keptForEnd returns the path of the file for the spec with this path.
func (b *box) keptForEnd(path string) string { return filepath.Join(b.runtime, filepath.Base(path)) }

// endContainer removes what is left of a job's container. It runs as the job's user after the end
// of the job's main process.
func endContainer(path string, environ []string) int {
	id, attempt, _ := parseFileName(filepath.Base(path))
	s := &Spec{JobID: id, Attempt: attempt}
	s.Container.Engine = contract.Docker // which needs only the container's name
	if dir := runtimeDir(environ); dir != "" {
		path, err := (&box{runtime: dir}).keptForEnd(path), error(nil)
		if s, err = Read(path); err != nil {
			return 0 // nobody would read an error
		}
		defer os.Remove(path)
	}
	b := newBox(s, s.RequireFilter, &surroundings{base: environ, free: func(int) bool { return true }})
	switch b.Engine {
	case contract.Podman:
		if !b.isThere() && !wasStopped(environ) {
			break
		}
		if status, err := b.heal(runChild, "rm", "--force", "--time=0", "--ignore", b.name); err != nil || status != 0 {
			os.Stderr.WriteString("gpusched: the job's container could not be removed: " + cmp.Or(err, statusError(status)).Error() + "\n")
		}
	case contract.Docker:
		_, _, _ = runChild(b.dockerCommand("rm", "--force", b.name), b.outside, true)
	}
	return 0
}

// wasStopped reports, after the end of a unit's main process, whether a signal may have ended it or
// the Podman that it ran. A stop signals all of Podman's processes, also one that is removing the
// container. The container may then be gone from the lists that isThere reads and still be in Podman's
// database.
func wasStopped(environ []string) bool {
	status, err := strconv.Atoi(valueOf(environ, "EXIT_STATUS"))
	return err != nil || status > signalInShell
}

// signalInShell is added to the number of a signal in the exit status with which a shell, or Podman,
// reports it.
const signalInShell = 128

// isThere reports whether Podman's lists in the store of jobs may have the container. Usually Podman
// has removed it, and need not be run again.
func (b *box) isThere() bool {
	lists, _ := filepath.Glob(filepath.Join(b.store(), "*-containers", "*.json"))
	ofRun, _ := filepath.Glob(filepath.Join(b.runtime, "run", "*-containers", "*.json"))
	lists = append(lists, ofRun...)
	return b.Store == "" || slices.ContainsFunc(lists, func(list string) bool {
		text, err := os.ReadFile(list)
		return err != nil || strings.Contains(string(text), strconv.Quote(b.name))
	})
}

// Inside returns a function for a job with a container, and nil for any other job. The function
// returns the words that precede a command so that it runs in the container, and the environment of
// the whole command.
func Inside(path string, environ []string) func(tty bool, term string) (argv, env []string) {
	s, err := Read(path)
	if err != nil || s.Container.IsZero() {
		return nil
	}
	free := func(int) bool { return true } // the job already has its port
	return newBox(s, s.RequireFilter, &surroundings{base: environ, cdi: cdiFiles(), free: free}).enter
}

// runChild runs a command as a child of this process. What the command prints goes into a file in
// memory: a pipe would stay open until the process that keeps the user's namespace ends.
func runChild(argv, env []string, quiet bool) (status int, printed string, err error) {
	path, err := execute(argv, env, foreseeError)
	if err != nil {
		return 0, "", errors.New("the program " + argv[0] + " can't be run: " + err.Error())
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, "", err
	}
	defer null.Close()
	files := []uintptr{null.Fd(), 1, 2}
	memory := -1
	if quiet {
		if memory, err = unix.MemfdCreate("printed", unix.MFD_CLOEXEC); err != nil {
			return 0, "", err
		}
		defer unix.Close(memory)
		files[1], files[2] = uintptr(memory), uintptr(memory)
	}
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: env, Files: files})
	if err != nil {
		return 0, "", err
	}
	var how unix.WaitStatus
	for _, err = unix.Wait4(pid, &how, 0, nil); err == unix.EINTR; _, err = unix.Wait4(pid, &how, 0, nil) {
	}
	if quiet {
		text := make([]byte, maxNoteBytes)
		n, _ := unix.Pread(memory, text, 0)
		printed = string(text[:max(n, 0)])
	}
	if how.Signaled() {
		return 128 + int(how.Signal()), printed, err
	}
	return how.ExitStatus(), printed, err
}
