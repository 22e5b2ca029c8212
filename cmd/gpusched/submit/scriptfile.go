package submit

import (
	"bufio"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/daemon/api"
)

// A scriptFile is a program that begins with #!. Only the part before its first command is read.
type scriptFile struct {
	name        string   // the path as it was typed
	path        string   // the absolute path
	interpreter []string // the first line's words: a program and at most one argument
	runnable    bool     // the file's mode says that it is executable
	lines       []scriptLine
	kept        string // path of the copy that the job runs; "" if it runs the file itself
}

// A scriptLine is a comment that contains options.
type scriptLine struct {
	number int
	mark   string // an element of marks
	text   string // the text after the mark
}

// marks are the words that begin lines with options, for gpusched and for sbatch.
var marks = []string{"#GPUSCHED", "#SBATCH"}

// MaxScriptHead is the largest number of bytes that are read of the comments above a script's first
// command.
const MaxScriptHead = 1 << 20

// scriptOf looks for the job's program in the directory dir and returns it as a script. If the
// program is not a script, scriptOf returns nil. As with sbatch, a name without a slash may be a
// script if PATH has no such program. Such a script is ignored if another user could have put it
// there. Without this rule, a mistyped name could run a file that another user left in a shared
// directory.
func scriptOf(a *cli.App, dir, program string) (*scriptFile, error) {
	path := program
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	bare := !strings.Contains(program, "/")
	if bare && jobenv.InPath(program, a.Environ) {
		return nil, nil
	}
	f, info := jobenv.OpenRegular(path)
	if f == nil {
		return nil, nil
	}
	defer f.Close()
	if bare && jobenv.StrangersIn(a, path, info) != "" {
		return nil, nil // NotInPath will report the missing program
	}
	s := &scriptFile{name: program, path: path, runnable: info.Mode().Perm()&0o111 != 0}
	is, err := s.read(f)
	if !is || err != nil {
		return nil, err
	}
	return s, nil
}

// read reads the first line and the comments above the first command. Without #! it returns false.
func (s *scriptFile) read(file io.Reader) (bool, error) {
	in := bufio.NewReader(io.LimitReader(file, MaxScriptHead))
	head, _ := in.Peek(5)
	if string(head) == "\xef\xbb\xbf#!" {
		return true, cli.Refuse(api.CodeUsage, "remove it with: sed -i '1s/^\\xEF\\xBB\\xBF//' "+s.name,
			"%q begins with a byte order mark, so neither its first line nor its options can be read", s.name)
	}
	if !strings.HasPrefix(string(head), "#!") {
		return false, nil
	}
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 {
			return true, nil
		}
		if errors.Is(err, io.EOF) && number > 1 && s.hasMore(file) {
			return true, cli.Usagef("%q has more than %d KiB of comments before its first command", s.name, MaxScriptHead>>10)
		}
		text := strings.TrimSuffix(string(line), "\n")
		switch {
		case number == 1:
			s.readInterpreter(text)
		case strings.TrimSpace(text) == "":
		case strings.TrimLeft(text, " \t")[0] != '#':
			return true, nil
		default:
			s.addLine(number, text)
		}
	}
}

// hasMore reports whether the file is longer than the part that was read.
func (s *scriptFile) hasMore(file io.Reader) bool {
	n, _ := file.Read(make([]byte, 1))
	return n > 0
}

func (s *scriptFile) addLine(number int, text string) {
	for _, mark := range marks {
		rest, ok := strings.CutPrefix(text, mark)
		if ok && (rest == "" || strings.IndexByte(" \t-", rest[0]) >= 0) {
			s.lines = append(s.lines, scriptLine{number: number, mark: mark, text: rest})
		}
	}
}

// names reports whether a line of options contains an option.
func (s *scriptFile) names(option string) bool {
	return slices.ContainsFunc(s.lines, func(l scriptLine) bool { return strings.Contains(l.text, option) })
}

// readInterpreter parses the first line as the kernel does. The first word is the program, and the
// rest is one argument. If the line ends with a carriage return, the argument ends with it, too.
func (s *scriptFile) readInterpreter(line string) {
	rest := strings.Trim(line[2:], " \t")
	program, arg := rest, ""
	if i := strings.IndexAny(rest, " \t"); i >= 0 {
		program, arg = rest[:i], strings.Trim(rest[i:], " \t")
	}
	s.interpreter = []string{program}
	if arg != "" {
		s.interpreter = append(s.interpreter, arg)
	}
}

// checkInterpreter returns an error if the script's interpreter does not exist.
func (s *scriptFile) checkInterpreter(a *cli.App) error {
	program, last := s.interpreter[0], s.interpreter[len(s.interpreter)-1]
	if strings.HasSuffix(last, "\r") {
		return cli.Refuse(api.CodeUsage, "convert it, such as with: sed -i 's/\\r$//' "+s.name,
			"%q has Windows line endings, so its interpreter would be %q, which does not exist", s.name, last)
	}
	missing := !jobenv.Runnable(program)
	if !missing && filepath.Base(program) == "env" && len(s.interpreter) > 1 && !strings.ContainsAny(last, " \t=-/") {
		program, missing = last, !jobenv.InPath(last, a.Environ)
	}
	if missing {
		return cli.Refuse(api.CodeUsage, jobenv.ForceHint(a), "%q needs the interpreter %q, which does not exist", s.name, program)
	}
	return nil
}

// runsDirectly reports whether the kernel can run the script under the name that was typed.
func (s *scriptFile) runsDirectly() bool { return s.runnable && strings.Contains(s.name, "/") }

// command returns the command line that runs the script. If the script can't be run directly, the
// interpreter runs it. The argument elsewhere says that the job does not run in the directory in
// which the script was found.
func (s *scriptFile) command(args []string, elsewhere bool) []string {
	argv := append([]string{s.name}, args...)
	if s.kept != "" {
		argv[0] = s.kept
		return slices.Concat(s.interpreter, argv)
	}
	if elsewhere || !strings.Contains(s.name, "/") {
		argv[0] = s.path
	}
	if s.runsDirectly() {
		return argv
	}
	return slices.Concat(s.interpreter, argv)
}

// useCopy makes the job run a copy of its script, as sbatch does. Before the job starts, people may
// edit the script for the next job, and programs may delete it.
func useCopy(a *cli.App, s *scriptFile) error {
	f, _ := jobenv.OpenRegular(s.path)
	if f == nil {
		return cli.Usagef("%q can't be read", s.name)
	}
	defer f.Close()
	text, err := jobenv.ReadKept(f)
	if err != nil {
		return err
	}
	s.kept, err = jobenv.KeepText(a, filepath.Base(s.path), text)
	return err
}
