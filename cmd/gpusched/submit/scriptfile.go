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

// scriptFile is a program that begins with #!, as far as its first command.
type scriptFile struct {
	name        string   // as it was typed
	path        string   // absolute
	interpreter []string // of its first line, with the one argument that it may have
	runnable    bool     // it has its x-bit
	lines       []scriptLine
	kept        string // a copy of it that is the job's own; "" where the job runs the file itself
}

// scriptLine is one with options.
type scriptLine struct {
	number int
	mark   string // which options: one of marks
	text   string // what follows the mark
}

// marks begin the lines with options: ours and sbatch's.
var marks = []string{"#GPUSCHED", "#SBATCH"}

// MaxScriptHead bounds the comments above the first command of a script.
const MaxScriptHead = 1 << 20

// scriptOf returns the script that a program is, seen from a directory, nil where it
// is something else. Without a slash it is one only if PATH has no such program, as
// people who come from sbatch type it, and if nobody else can have put it there: a name
// that was mistyped would run what lies in wait in a directory of all.
func scriptOf(a *cli.App, dir, program string) (*scriptFile, error) {
	path := program
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	bare := !strings.Contains(program, "/")
	if bare && jobenv.InPath(a, program, a.Environ) {
		return nil, nil
	}
	f, info := jobenv.OpenRegular(path)
	if f == nil {
		return nil, nil
	}
	defer f.Close()
	if bare && jobenv.StrangersIn(a, path, info) != "" {
		return nil, nil // NotInPath tells
	}
	s := &scriptFile{name: program, path: path, runnable: info.Mode().Perm()&0o111 != 0}
	is, err := s.read(f)
	if !is || err != nil {
		return nil, err
	}
	return s, nil
}

// read reads the first line, and the comments up to the first command. It reports
// whether it is a script.
func (s *scriptFile) read(file io.Reader) (bool, error) {
	in := bufio.NewReader(io.LimitReader(file, MaxScriptHead))
	head, _ := in.Peek(5)
	if string(head) == "\xef\xbb\xbf#!" {
		return true, cli.Refuse(api.CodeUsage, "take it out, with: sed -i '1s/^\\xEF\\xBB\\xBF//' "+s.name,
			"%q begins with a byte order mark, so nothing reads its first line and its options", s.name)
	}
	if !strings.HasPrefix(string(head), "#!") {
		return false, nil
	}
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 {
			return true, nil
		}
		if errors.Is(err, io.EOF) && number > 1 && s.cut(file) {
			return true, cli.Usagef("%q has more than %d KiB of comments before its first command", s.name, MaxScriptHead>>10)
		}
		text := strings.TrimSuffix(string(line), "\n")
		switch {
		case number == 1:
			s.readInterpreter(text)
		case strings.TrimSpace(text) == "":
		case text[0] != '#':
			return true, nil
		default:
			s.addLine(number, text)
		}
	}
}

// cut reports whether there is more than was read.
func (s *scriptFile) cut(file io.Reader) bool {
	n, _ := file.Read(make([]byte, 1))
	return n > 0
}

func (s *scriptFile) addLine(number int, text string) {
	for _, mark := range marks {
		rest, ok := strings.CutPrefix(text, mark)
		if ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t') {
			s.lines = append(s.lines, scriptLine{number: number, mark: mark, text: rest})
		}
	}
}

// readInterpreter reads the first line as the kernel does: the program, and all that
// follows as one argument. A Windows line end belongs to the last of it.
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

// runs refuses a script whose interpreter is not there.
func (s *scriptFile) runs(a *cli.App) error {
	program, last := s.interpreter[0], s.interpreter[len(s.interpreter)-1]
	if strings.HasSuffix(last, "\r") {
		return cli.Refuse(api.CodeUsage, "convert it, such as with: sed -i 's/\\r$//' "+s.name,
			"%q has the line ends of Windows, so its interpreter would be %q, which is not there", s.name, last)
	}
	missing := !jobenv.Runnable(program)
	if !missing && filepath.Base(program) == "env" && len(s.interpreter) > 1 && !strings.ContainsAny(last, " \t=-/") {
		program, missing = last, !jobenv.InPath(a, last, a.Environ)
	}
	if missing {
		return cli.Refuse(api.CodeUsage, jobenv.ForceHint(a), "the interpreter of %q, %q, is not there", s.name, program)
	}
	return nil
}

// itself reports whether the script is run as it was typed.
func (s *scriptFile) itself() bool { return s.runnable && strings.Contains(s.name, "/") }

// command is how the script is run: by itself where it can be, else by its
// interpreter. With elsewhere the job runs in another directory than that in which
// the script was found.
func (s *scriptFile) command(args []string, elsewhere bool) []string {
	argv := append([]string{s.name}, args...)
	if s.kept != "" {
		argv[0] = s.kept
		return slices.Concat(s.interpreter, argv)
	}
	if elsewhere || !strings.Contains(s.name, "/") {
		argv[0] = s.path
	}
	if s.itself() {
		return argv
	}
	return slices.Concat(s.interpreter, argv)
}

// keep has the job run a copy of its script, as sbatch does: people edit it for the next job, and programs
// delete it, before the job starts.
func keep(a *cli.App, s *scriptFile) error {
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
