package client

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// forceHint is for what may be there when the job starts. Another tool has no such option.
func (a *app) forceHint() string {
	if a.as.other {
		return ""
	}
	return "--force queues the job all the same"
}

// checkProgram refuses a command whose program or script is not there, or whose
// directory is not, unless the submitter forces it. What only the job's own unit knows
// is not looked for: the PATH of an environment that is not inherited.
func (c *jobOptions) checkProgram(a *app, req *api.SubmitRequest) error {
	if c.Force {
		return nil
	}
	dir, program := string(req.Dir), req.Argv[0]
	hint := a.forceHint()
	if a.asked != nil {
		hint = "a job runs in the same path there: make it, choose another with --chdir, or queue it all the same with --force"
	}
	if err := checkDirectory(dir, hint); err != nil {
		return err
	}
	if req.Setup.Command != "" {
		dir = "" // it may go elsewhere
	}
	switch {
	case slices.Contains(ofShells, program):
		return ofShell(req.Argv)
	case strings.Contains(program, "/"):
		if path := inDir(dir, program); path != "" {
			return a.checkFile(program, path)
		}
	case req.EnvMode != contract.EnvInherit:
	case !a.inPath(program, searched(*req)):
		return a.notInPath(dir, program, req.Argv[1:], searched(*req))
	}
	return a.checkScriptArgument(dir, req.Argv)
}

// checkDirectory refuses a directory that is not there; "" is one that is not known here.
func checkDirectory(dir, hint string) error {
	info, err := os.Stat(dir)
	switch {
	case dir != "" && os.IsNotExist(err):
		return refuse(api.CodeUsage, hint, "there is no directory %q", dir)
	case err == nil && !info.IsDir():
		return refuse(api.CodeUsage, hint, "%q is not a directory", dir)
	}
	return nil
}

// ofShells are words that only a shell understands, or that would change nothing but their own process.
var ofShells = strings.Fields(". source cd pushd popd export declare local readonly alias unalias set unset shopt ulimit umask eval exec trap " +
	"if for while until case [[")

// instead are the options that do what some of these words are for.
var instead = map[string]string{
	"cd": "use --chdir DIR", "export": "use -e NAME=VALUE", "module": "use --modules NAME",
	"source": "use --venv DIR for an environment of Python, or --setup 'source FILE'",
}

// ofShell refuses a word of a shell as a program.
func ofShell(argv []string) error {
	line := joined(argv, " ", shellWord)
	if !slices.Contains([]string{"if", "for", "while", "until", "case", "[["}, argv[0]) {
		line += " && COMMAND"
	}
	hint := "have a shell run the line, as in: gpusched submit -- bash -c " + shellWord(line)
	option := instead[argv[0]]
	if argv[0] == "." {
		option = instead["source"]
	}
	if option != "" {
		hint = option + ", or " + hint
	}
	return refuse(api.CodeUsage, hint, "%q is a word of the shell, not a program", argv[0])
}

// inDir is the path of a file seen from a directory, "" where that is not known.
func inDir(dir, name string) string {
	switch {
	case filepath.IsAbs(name):
		return name
	case dir == "":
		return ""
	}
	return filepath.Join(dir, name)
}

// checkFile says why a file that was named is not a program, or not a script for sbatch, which needs no permission.
func (a *app) checkFile(name, path string) error {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return refuse(api.CodeUsage, a.didYouMean(name, path), "there is no file %q", name)
	case err != nil:
		return refuse(api.CodeUsage, a.forceHint(), "%q can't be run: %v", name, err)
	case info.IsDir():
		return refuse(api.CodeUsage, "name a program in it", "%q is a directory", name)
	case !runnable(path) && a.as.keeps:
		return refuse(api.CodeUsage, "such as #!/bin/bash", "%q does not begin with #! and an interpreter", name)
	case !runnable(path):
		return refuse(api.CodeUsage, fmt.Sprintf("name its interpreter, such as %s %s, or chmod +x %s", interpreterFor(name), name, name),
			"%q is not executable", name)
	}
	return nil
}

// notInPath says what was probably meant by a program that PATH does not have.
func (a *app) notInPath(dir, program string, args, env []string) error {
	no := func(hint string) error {
		return refuse(api.CodeUsage, hint, "there is no program %q in your PATH", program)
	}
	switch {
	case program == "module" || program == "time":
		return ofShell(append([]string{program}, args...))
	case strings.HasPrefix(program, "-"):
		return refuse(api.CodeUsage, "options of gpusched come before the command and the --, as in: gpusched submit -g 1 -- COMMAND",
			"%q is an option, not a program", program)
	}
	if words := strings.Fields(program); len(words) > 1 {
		text := strings.TrimPrefix(program, "cmd=")
		asShell := "have a shell read it: gpusched submit -- sh -c " + shellWord(text)
		// without the quotation marks one's own shell would read it
		if joined(words, " ", shellWord) != strings.Join(words, " ") {
			return no("it is one word: " + asShell)
		}
		return no("it is one word: leave the quotation marks out, as in: gpusched submit -- " + text + "; or " + asShell)
	}
	if name, _, ok := strings.Cut(program, "="); ok && name != "" {
		return no(fmt.Sprintf("a variable is set with -e %s", program))
	}
	if path := inDir(dir, program); path != "" {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			if who := a.strangersIn(path, info); who != "" {
				return no("there is ./" + program + ", which " + who + ": type ./" + program + " if you mean that one")
			}
			if runnable(path) {
				return no("did you mean ./" + program + "?")
			}
			return no(fmt.Sprintf("did you mean %s ./%s?", interpreterFor(program), program))
		}
		if near := nearFile(path); near != "" {
			return no("did you mean ./" + near + "?")
		}
	}
	for _, other := range others[program] {
		if a.inPath(other, env) {
			return no("did you mean " + strings.Join(append([]string{other}, args...), " ") + "?")
		}
	}
	return no(a.forceHint())
}

// others are programs that stand for each other where one is missing.
var others = map[string][]string{"python": {"python3"}, "python3": {"python"}, "pip": {"pip3"}}

// interpreterFor is what usually runs a file of such a name.
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

func (a *app) didYouMean(name, path string) string {
	if near := nearFile(path); near != "" {
		dir, _ := filepath.Split(name)
		return "did you mean " + dir + near + "?"
	}
	return a.forceHint()
}

// nearFile is a file of the same directory with nearly the same name, "" if there is
// none among the first that are there.
func nearFile(path string) string {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil || len(filepath.Base(path)) < 3 {
		return "" // of two letters everything is near
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

// interpreters run the first of their arguments that is no option.
var interpreters = strings.Fields("python pypy bash sh dash zsh ksh perl ruby node julia Rscript lua")

// checkScriptArgument refuses an interpreter whose script is not there.
func (a *app) checkScriptArgument(dir string, argv []string) error {
	arg := scriptOf(argv)
	path := inDir(dir, arg)
	if arg == "" || path == "" {
		return nil
	}
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return refuse(api.CodeUsage, a.didYouMean(arg, path), "there is no file %q for %s to run", arg, argv[0])
	}
	return nil
}

// scriptOf is the script that an interpreter is to run, "" where none is known. Of options it knows only which it can
// pass over: those of one letter without a value.
func scriptOf(argv []string) string {
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

func readAtMost(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}
