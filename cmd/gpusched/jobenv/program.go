package jobenv

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// ForceHint suggests --force if a file may not exist before the job starts. It suggests nothing
// under another tool's name, since other tools have no such option.
func ForceHint(a *cli.App) string {
	if a.As.Other {
		return ""
	}
	return "--force queues the job anyway"
}

// CheckDirectory returns an error if a directory does not exist, is not a directory, or is closed to
// the user. It accepts "", which means that the directory is not known yet.
func CheckDirectory(dir, hint string) error {
	info, err := os.Stat(dir)
	switch {
	case dir != "" && os.IsNotExist(err):
		return cli.Refuse(api.CodeUsage, hint, "there is no directory %q", dir)
	case err == nil && !info.IsDir():
		return cli.Refuse(api.CodeUsage, hint, "%q is not a directory", dir)
	case dir != "" && syscall.Access(dir, 1) == syscall.EACCES:
		return cli.Refuse(api.CodeUsage, hint, "you can't enter the directory %q", dir)
	}
	return nil
}

// ShellWords are words that only a shell understands. Some of them are not programs. The others are
// programs, but affect only their own process.
var ShellWords = strings.Fields(". source cd pushd popd export declare local readonly alias unalias set unset shopt ulimit umask eval exec trap " +
	"if for while until case [[")

// This table maps shell words to the options of gpusched that do the same.
var instead = map[string]string{
	"cd": "use --chdir DIR", "export": "use -e NAME=VALUE", "module": "use --modules NAME",
	"source": "use --venv DIR for an environment of Python, or --setup 'source FILE'",
}

// RefuseShellWord returns an error if the job's program is a word for the shell.
func RefuseShellWord(argv []string) error {
	line := cli.Joined(argv, " ", cli.ShellWord)
	if !slices.Contains([]string{"if", "for", "while", "until", "case", "[["}, argv[0]) {
		line += " && COMMAND"
	}
	hint := "let a shell run the line, as in: gpusched submit -- bash -c " + cli.ShellWord(line)
	option := instead[argv[0]]
	if argv[0] == "." {
		option = instead["source"]
	}
	if option != "" {
		hint = option + ", or " + hint
	}
	return cli.Refuse(api.CodeUsage, hint, "%q is a word of the shell, not a program", argv[0])
}

// InDir returns the path of a file relative to a directory, or "" for an unknown directory.
func InDir(dir, name string) string {
	switch {
	case filepath.IsAbs(name):
		return name
	case dir == "":
		return ""
	}
	return filepath.Join(dir, name)
}

// CheckFile returns an error if a file is not a program. Under the name sbatch, a script needs no
// execute permission.
func CheckFile(a *cli.App, name, path string) error {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return cli.Refuse(api.CodeUsage, DidYouMean(a, name, path), "there is no file %q", name)
	case err != nil:
		return cli.Refuse(api.CodeUsage, ForceHint(a), "%q can't be run: %v", name, err)
	case info.IsDir():
		return cli.Refuse(api.CodeUsage, "name a program in it", "%q is a directory", name)
	case !Runnable(path) && a.As.Keeps:
		return cli.Refuse(api.CodeUsage, "such as #!/bin/bash", "%q does not begin with #! and an interpreter", name)
	case !Runnable(path):
		return cli.Refuse(api.CodeUsage, fmt.Sprintf("name its interpreter, such as %s %s, or chmod +x %s", interpreterFor(name), name, name),
			"%q is not executable", name)
	}
	return nil
}

// NotInPath returns the error for a program that is not in PATH. The error suggests what the user
// probably meant.
func NotInPath(a *cli.App, dir, program string, args, env []string) error {
	no := func(hint string) error {
		return cli.Refuse(api.CodeUsage, hint, "there is no program %q in your PATH", program)
	}
	switch {
	case program == "module" || program == "time":
		return RefuseShellWord(append([]string{program}, args...))
	case strings.HasPrefix(program, "-"):
		return cli.Refuse(api.CodeUsage, "gpusched's options go before the command and the --, as in: gpusched submit -g 1 -- COMMAND",
			"%q is an option, not a program", program)
	}
	if words := strings.Fields(program); len(words) > 1 {
		text := strings.TrimPrefix(program, "cmd=")
		asShell := "let a shell read it: gpusched submit -- sh -c " + cli.ShellWord(text)
		// without quotes, the user's shell would change these words
		if cli.Joined(words, " ", cli.ShellWord) != strings.Join(words, " ") {
			return no("it is one word: " + asShell)
		}
		return no("it is one word: leave the quotation marks out, as in: gpusched submit -- " + text + "; or " + asShell)
	}
	if name, _, ok := strings.Cut(program, "="); ok && name != "" {
		return no(fmt.Sprintf("a variable is set with -e %s", program))
	}
	if path := InDir(dir, program); path != "" {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			if who := StrangersIn(a, path, info); who != "" {
				return no("there is ./" + program + ", which " + who + ": type ./" + program + " if you mean that one")
			}
			if Runnable(path) {
				return no("did you mean ./" + program + "?")
			}
			return no(fmt.Sprintf("did you mean %s ./%s?", interpreterFor(program), program))
		}
		if near := nearFile(path); near != "" {
			return no("did you mean ./" + near + "?")
		}
	}
	for _, other := range alternatives[program] {
		if InPath(other, env) {
			return no("did you mean " + strings.Join(append([]string{other}, args...), " ") + "?")
		}
	}
	return no(ForceHint(a))
}

// alternatives maps a missing program to programs that can replace it.
var alternatives = map[string][]string{"python": {"python3"}, "python3": {"python"}, "pip": {"pip3"}}

// interpreterFor returns the interpreter that a file of this name usually needs.
func interpreterFor(name string) string {
	switch filepath.Ext(name) {
	case ".py":
		return "python3"
	case ".pl":
		return "perl"
	case ".R", ".r":
		return "Rscript"
	}
	return "bash"
}

func DidYouMean(a *cli.App, name, path string) string {
	if near := nearFile(path); near != "" {
		dir, _ := filepath.Split(name)
		return "did you mean " + dir + near + "?"
	}
	return ForceHint(a)
}

// nearFile returns a file in the same directory whose name is nearly the same, or "". It looks at
// the first thousand entries only.
func nearFile(path string) string {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil || len(filepath.Base(path)) < 3 {
		return "" // a name of two letters is close to any other
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(1000)
	slices.Sort(names)
	near := job.Nearest(filepath.Base(path), names)
	if info, err := os.Stat(filepath.Join(dir.Name(), near)); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return near
}

// interpreters are programs whose first argument after the options is a file to run.
var interpreters = strings.Fields("python pypy bash sh dash zsh ksh perl ruby node julia Rscript lua")

// CheckScriptArgument returns an error if an interpreter's script does not exist.
func CheckScriptArgument(a *cli.App, dir string, argv []string) error {
	arg := ScriptOf(argv)
	path := InDir(dir, arg)
	if arg == "" || path == "" {
		return nil
	}
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return cli.Refuse(api.CodeUsage, DidYouMean(a, arg, path), "there is no file %q for %s to run", arg, argv[0])
	}
	return nil
}

// ScriptOf returns the script that an interpreter will run. It skips only options of one letter
// without a value. If it finds other options, it returns "".
func ScriptOf(argv []string) string {
	if !slices.Contains(interpreters, strings.TrimRight(filepath.Base(argv[0]), "0123456789.")) {
		return ""
	}
	for _, arg := range argv[1:] {
		if slices.Contains([]string{"-u", "-O", "-B", "-E", "-I", "-s", "-x", "-e", "-eu", "-eux"}, arg) {
			continue
		}
		if job.IsScript(arg) && !strings.ContainsAny(arg, "{$") {
			return arg
		}
		return ""
	}
	return ""
}

func ReadAtMost(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}
