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

// Two tables: the file systems that should be mounted on this machine, and those that are mounted.
const (
	mountTable = "/etc/fstab"
	mounted    = "/proc/self/mountinfo"
)

// If a directory or command is missing, evidently because a file system is missing, blameFileSystem
// changes the failure so that it blames the file system. The job is then not at fault, and is tried
// again.
func (r *run) blameFileSystem(f *Failure) {
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
	list := missingPaths(f, s, r.base)
	for _, path := range list {
		why := whyAway(path, valueOf(r.base, "HOME"), mountTable)
		if why == "" && len(list) == 1 { // a directory in PATH may never have existed
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

// neededAway returns a failure if the conda or virtual environment of the set-up, or the script of
// the command, is on a missing file system. If the job began all the same, another command of the
// same name would run, or the command would fail at once.
func neededAway(s *Spec, home, table string) *Failure {
	for _, path := range []string{s.Setup.Conda, s.Setup.Venv, script(s)} {
		err := unix.Access(path, unix.F_OK)
		if path == "" || err == nil {
			continue
		}
		why := whyAway(path, home, table)
		if why == "" && path != script(s) { // the command may create this file itself
			why = maybeAway(path)
		}
		if why != "" {
			what := "it needs " + strconv.Quote(shorten(path)) + ", which is missing (" + why + ")"
			return &Failure{Step: contract.StepAway, What: what, Err: err, Next: triedAgain}
		}
	}
	return nil
}

// script returns the first path among the arguments of the command, which is the file that an
// interpreter runs, or "". It also returns "" for a job with a set-up command, because that command
// may mount the path or change the directory.
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

// whyAway returns the reason why a path, or the target of its links, may be missing through no
// fault of the job. It returns "" if nothing suggests that.
func whyAway(path, home, table string) string {
	for _, path := range pathAndTargets(path) {
		if at := unmountedPoint(path, table, mounted); at != "" {
			return "nothing is mounted at " + at
		}
	}
	if isWithin(path, home) && homeMissing(home) {
		return "the home directory " + home + " is missing, too"
	}
	return ""
}

// maybeAway is like whyAway, but for file systems that no table lists.
func maybeAway(path string) string {
	for _, path := range pathAndTargets(path) {
		if at := emptyMountPoint(path); at != "" {
			return at + " is empty: its file system may not be mounted"
		}
	}
	return ""
}

// missingPaths returns the paths at which the missing file should be.
func missingPaths(f *Failure, s *Spec, base []string) []string {
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

// pathAndTargets returns a path and the targets of its links. If the file is a script, it adds the
// path of the interpreter and the targets of that path's links.
func pathAndTargets(path string) []string {
	list := linkChain(path)
	if line, ok := strings.CutPrefix(firstLine(path), "#!"); ok && strings.TrimSpace(line) != "" {
		list = append(list, linkChain(strings.Fields(line)[0])...)
	}
	return list
}

// linkChain returns a path, and the paths that result from resolving its links one after another.
func linkChain(path string) (list []string) {
	const most = 40 // the kernel's limit
	for ; path != "" && len(list) < most; path = resolveFirstLink(path) {
		list = append(list, path)
	}
	return list
}

// resolveFirstLink resolves the first link in a path; "" if the path has none.
func resolveFirstLink(path string) string {
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

// emptyMountPoint returns the last existing directory on the way to a missing path, if a file
// system may be missing there. A file system may be missing if the directory is an automount point,
// or if it is empty and this account can't have removed anything from it.
func emptyMountPoint(path string) string {
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

// homeMissing reports whether an account has a home directory that does not exist.
func homeMissing(home string) bool {
	var st unix.Stat_t
	return home != "" && !strings.HasPrefix(home, "/nonexistent") && unix.Stat(home, &st) != nil
}

// isWithin reports whether path is dir or below it.
func isWithin(path, dir string) bool {
	dir = strings.TrimSuffix(dir, "/")
	return path == dir || strings.HasPrefix(path, dir+"/")
}

// mountedByHand reports whether a line of the table is mounted only on request.
func mountedByHand(f []string) bool {
	if len(f) < 4 {
		return false
	}
	options := strings.Split(f[3], ",")
	return slices.Contains(options, "noauto") && !slices.Contains(options, "x-systemd.automount")
}

// unmountedPoint returns the mount point in the table that is above the path, if nothing is mounted
// at that mount point and its directory is empty; otherwise "". Both tables spell paths in the same
// way.
func unmountedPoint(path, table, mounted string) string {
	should, err := os.ReadFile(table)
	is, err2 := os.ReadFile(mounted)
	if err != nil || err2 != nil {
		return ""
	}
	for line := range strings.Lines(string(should)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0][0] == '#' || f[1][0] != '/' || f[1] == "/" || mountedByHand(f) {
			continue
		}
		at := strings.TrimSuffix(f[1], "/")
		if !isWithin(path, at) {
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

// isEmpty reports whether a directory is empty or unreadable.
func isEmpty(path string) bool {
	dir, err := os.Open(path)
	if err != nil {
		return true
	}
	defer dir.Close()
	_, err = dir.Readdirnames(1)
	return err == io.EOF
}
