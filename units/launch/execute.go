package launch

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// shell runs files that the kernel can't run, as execvp does.
const shell = "/bin/sh"

// execute replaces the process with the command. Like execvp, it looks the command up in the PATH
// of the given environment and from the current directory. It returns only after a failure, with
// the error and, if there is one, the path that the error is about.
func execute(argv, env []string, exec func(path string, argv, env []string) error) (path string, err error) {
	file := argv[0]
	if strings.Contains(file, "/") {
		return file, tryExec(file, argv, env, exec)
	}
	err = unix.ENOENT
	for _, dir := range searchPath(env) {
		candidate := dir + "/" + file
		if dir == "" {
			candidate = file
		}
		// Checking first avoids a copy of all arguments for each directory without the command.
		e := unix.Faccessat(unix.AT_FDCWD, candidate, unix.X_OK, 0)
		if e == nil {
			e = tryExec(candidate, argv, env, exec)
		}
		switch e {
		case unix.ENOENT, unix.ENOTDIR, unix.ESTALE, unix.ENODEV, unix.ETIMEDOUT, unix.ENAMETOOLONG:
			if path == "" && missingInterpreter(candidate, e) {
				path = candidate
			}
		case unix.EACCES:
			path, err = candidate, e
		default:
			return candidate, e
		}
	}
	return path, err
}

// searchPath splits the PATH of env; an empty element is the current directory. Without a PATH it
// returns the C library's default.
func searchPath(env []string) []string {
	path := "/bin:/usr/bin"
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	return strings.Split(path, ":")
}

func tryExec(path string, argv, env []string, exec func(string, []string, []string) error) error {
	err := exec(path, argv, env)
	if !errors.Is(err, unix.ENOEXEC) || !isScript(path) {
		return err
	}
	return exec(shell, append([]string{shell, path}, argv[1:]...), env)
}

// maxArgument is the kernel's limit for one argument or variable, with its final NUL.
const maxArgument = 32 * 4096

// foreseeError returns the error with which the kernel would refuse a program, as far as this
// process can find out without trying.
func foreseeError(path string, argv, env []string) error {
	for _, list := range [][]string{argv, env} {
		for _, s := range list {
			if strings.IndexByte(s, 0) >= 0 {
				return unix.EINVAL
			}
			if len(s) >= maxArgument {
				return unix.E2BIG
			}
		}
	}
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, 0); err != nil {
		return err
	}
	var st unix.Stat_t
	if unix.Stat(path, &st) == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		return unix.EACCES
	}
	if line, ok := strings.CutPrefix(firstLine(path), "#!"); ok {
		interpreter := strings.Fields(line)
		if len(interpreter) > 0 && unix.Faccessat(unix.AT_FDCWD, interpreter[0], unix.F_OK, 0) == unix.ENOENT {
			return unix.ENOENT
		}
	}
	return nil
}

// isScript reports whether a file that the kernel refused may be meant for a shell. Like the shells
// themselves, it takes a NUL byte in the first line as a sign that the file is a program for
// another machine.
func isScript(path string) bool {
	line := firstLine(path)
	return line != "" && strings.IndexByte(line, 0) < 0
}

// firstLine returns a file's first line with its line end, up to the length that the kernel reads;
// "" if it can't be read.
func firstLine(path string) string {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var head [256]byte
	n, err := unix.Read(fd, head[:])
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	return line + "\n"
}

// missingInterpreter reports whether the file exists but its interpreter or loader is missing.
func missingInterpreter(path string, err error) bool {
	return err == unix.ENOENT && unix.Faccessat(unix.AT_FDCWD, path, unix.F_OK, 0) == nil
}

// execFailure explains why the command could not be run.
func execFailure(argv []string, path string, err error) *Failure {
	f := &Failure{Step: contract.StepExec, What: "its command " + strconv.Quote(shorten(argv[0])) + " could not be run",
		Err: err}
	switch {
	case path != "" && missingInterpreter(path, err):
		f.Next = shorten(path) + " is there, but the interpreter that its first line names is not"
	case err == unix.ENOENT && !strings.Contains(argv[0], "/"):
		f.Next = "no such program in the job's PATH: use the full path, or set PATH with -e or --env login"
	case err == unix.ENOENT:
		f.Next = "no such file, seen from the job's directory (--chdir)"
	case err == unix.EACCES:
		f.Next = "is it a program, executable for the job's user? try chmod +x, or name its interpreter"
	case err == unix.ENOEXEC:
		f.Next = "it is a program for another kind of machine, or damaged"
	case err == unix.E2BIG:
		f.Next = "the arguments and the environment are too large together: use --env clean, or put data in a file"
	case err == unix.EINVAL:
		f.Next = "an argument or variable contains a NUL byte"
	}
	return f
}

// shorten cuts a very long name, so that a message stays readable.
func shorten(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
