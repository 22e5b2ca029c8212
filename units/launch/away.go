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

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// What should be mounted on this machine, and what is.
const (
	mountTable = "/etc/fstab"
	mounted    = "/proc/self/mountinfo"
)

// blameAway turns a directory or a command that is not there into the failure of the file
// system that should have it, where that is plain to see: the job is then not at fault, and
// is tried again.
func (r *run) blameAway(f *Failure) {
	switch {
	case f.Step != contract.StepChdir && f.Step != contract.StepExec && f.Step != contract.StepShell:
		return
	case r.stage == afterSetup || r.stage == afterSetupExposed:
		return
	case !errors.Is(f.Err, unix.ENOENT) && !errors.Is(f.Err, unix.ENOTDIR) && !errors.Is(f.Err, unix.EACCES):
		return
	}
	s, err := Read(r.path)
	if err != nil {
		return
	}
	list := missing(f, s, r.base)
	for _, path := range list {
		why := away(path, valueOf(r.base, "HOME"), mountTable)
		if why == "" && len(list) == 1 { // what PATH names may never have been there
			why = maybeAway(path)
		}
		if why != "" {
			f.What += "; " + why
			f.Step, f.Next = contract.StepAway, triedAgain
			return
		}
	}
}

const triedAgain = "the job is tried again; an administrator should see 'gpusched health'"

// neededAway finds the conda or virtual environment of a set-up, or the script of the command, on a file system that is
// away: the command would be another one of the same name, or fail at once.
func neededAway(s *Spec, home, table string) *Failure {
	for _, path := range []string{s.Setup.Conda, s.Setup.Venv, script(s)} {
		err := unix.Access(path, unix.F_OK)
		if path == "" || err == nil {
			continue
		}
		why := away(path, home, table)
		if why == "" && path != script(s) { // which may be a file that the command makes
			why = maybeAway(path)
		}
		if why != "" {
			what := "it needs " + strconv.Quote(shorten(path)) + ", which is not there (" + why + ")"
			return &Failure{Step: contract.StepAway, What: what, Err: err, Next: triedAgain}
		}
	}
	return nil
}

// script is the first path among the arguments of the command, "" where there is none: what an interpreter runs is. A
// set-up may mount what it is on, or have the command begin in another directory.
func script(s *Spec) string {
	if s.Setup.Command != "" {
		return ""
	}
	for _, arg := range s.Argv[1:] {
		switch {
		case strings.HasPrefix(arg, "-") || !strings.Contains(arg, "/") || strings.ContainsAny(arg, " \t\n"):
		case filepath.IsAbs(arg):
			return arg
		default:
			return filepath.Join(s.Dir, arg)
		}
	}
	return ""
}

// away says why a path, or what it leads to, may not be there for no fault of the job's, "" if nothing is seen of that.
func away(path, home, table string) string {
	for _, path := range leadsTo(path) {
		if at := unmounted(path, table, mounted); at != "" {
			return "nothing is mounted at " + at
		}
	}
	if within(path, home) && homeless(home) {
		return "the home directory " + home + " is not there either"
	}
	return ""
}

// maybeAway is away for what no table names.
func maybeAway(path string) string {
	for _, path := range leadsTo(path) {
		if at := bare(path); at != "" {
			return "there is nothing in " + at + ", where a file system may not be mounted"
		}
	}
	return ""
}

// missing are the paths at which what was missing should be.
func missing(f *Failure, s *Spec, base []string) []string {
	switch {
	case f.path != "":
		return []string{f.path}
	case f.Step == contract.StepChdir:
		return []string{s.Dir}
	case filepath.IsAbs(s.Argv[0]):
		return s.Argv[:1]
	case strings.Contains(s.Argv[0], "/"):
		return []string{filepath.Join(s.Dir, s.Argv[0])}
	}
	list := append(searchPath(s.Env), searchPath(base)...)
	for i, dir := range list {
		list[i] = filepath.Join(cmp.Or(dir, s.Dir), s.Argv[0])
	}
	return list
}

// leadsTo are a path and what its links lead to, and the same of the interpreter if it is a script.
func leadsTo(path string) []string {
	list := linked(path)
	if line, ok := strings.CutPrefix(firstLine(path), "#!"); ok && strings.TrimSpace(line) != "" {
		list = append(list, linked(strings.Fields(line)[0])...)
	}
	return list
}

// linked are a path and what each of its links makes of it, the first one first.
func linked(path string) (list []string) {
	const most = 40 // as the kernel follows
	for ; path != "" && len(list) < most; path = followed(path) {
		list = append(list, path)
	}
	return list
}

// followed is what the first link in a path makes of it, "" where none is in it.
func followed(path string) string {
	for end := 1; end <= len(path); end++ {
		if end < len(path) && path[end] != '/' {
			continue
		}
		if target, err := os.Readlink(path[:end]); err == nil {
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(path[:end]), target)
			}
			return filepath.Join(target, path[end:])
		}
	}
	return ""
}

// bare returns the directory in which a path ends that is not there, where a file system may be missing: one that
// mounts what is looked for, or an empty one in which this account can have removed nothing.
func bare(path string) string {
	if !errors.Is(unix.Access(path, unix.F_OK), unix.ENOENT) {
		return ""
	}
	at := filepath.Dir(path)
	for at != "/" && unix.Access(at, unix.F_OK) != nil {
		at = filepath.Dir(at)
	}
	var st unix.Statfs_t
	if unix.Statfs(at, &st) == nil && st.Type == unix.AUTOFS_SUPER_MAGIC {
		return at
	}
	if unix.Access(at, unix.W_OK) != nil && unix.Access(at, unix.R_OK) == nil && isEmpty(at) {
		return at
	}
	return ""
}

// homeless reports whether a home directory is not there, of an account that has one.
func homeless(home string) bool {
	var st unix.Stat_t
	return home != "" && !strings.HasPrefix(home, "/nonexistent") && unix.Stat(home, &st) != nil
}

// within reports whether a path is a directory's or in it.
func within(path, dir string) bool {
	dir = strings.TrimSuffix(dir, "/")
	return path == dir || strings.HasPrefix(path, dir+"/")
}

// byHand reports whether a line of the table is mounted only when somebody says so.
func byHand(f []string) bool {
	if len(f) < 4 {
		return false
	}
	options := strings.Split(f[3], ",")
	return slices.Contains(options, "noauto") && !slices.Contains(options, "x-systemd.automount")
}

// unmounted returns the mount point above the path that the table lists and that is not mounted, and has
// nothing in it, "" if there is none. Both files write a path in the same way.
func unmounted(path, table, mounted string) string {
	should, err := os.ReadFile(table)
	is, err2 := os.ReadFile(mounted)
	if err != nil || err2 != nil {
		return ""
	}
	for line := range strings.Lines(string(should)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0][0] == '#' || f[1][0] != '/' || f[1] == "/" || byHand(f) {
			continue
		}
		at := strings.TrimSuffix(f[1], "/")
		if !within(path, at) {
			continue
		}
		real, err := filepath.EvalSymlinks(at)
		if err != nil {
			real = at
		}
		if !strings.Contains(string(is), " "+real+" ") && isEmpty(real) {
			return at
		}
	}
	return ""
}

// isEmpty reports whether there is nothing in a directory, as far as that can be seen.
func isEmpty(path string) bool {
	dir, err := os.Open(path)
	if err != nil {
		return true
	}
	defer dir.Close()
	_, err = dir.Readdirnames(1)
	return err == io.EOF
}
