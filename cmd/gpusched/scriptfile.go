package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gpusched/gpusched/daemon/api"
)

// scriptFile is a program that begins with #!, as far as its first command.
type scriptFile struct {
	name        string   // as it was typed
	path        string   // absolute
	interpreter []string // of its first line, with the one argument that it may have
	runnable    bool     // it has its x-bit
	lines       []scriptLine
}

// scriptLine is one with options.
type scriptLine struct {
	number int
	mark   string // which options: one of marks
	text   string // what follows the mark
}

// marks begin the lines with options: ours and sbatch's.
var marks = []string{"#GPUSCHED", "#SBATCH"}

// maxScriptHead bounds the comments above the first command of a script.
const maxScriptHead = 1 << 20

// scriptOf returns the script that a program is, seen from a directory, nil where it
// is something else. Without a slash it is one only if PATH has no such program, as
// people who come from sbatch type it.
func (a *app) scriptOf(dir, program string) (*scriptFile, error) {
	path := program
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if !strings.Contains(program, "/") && a.inPath(program, bytesOf(a.environ)) {
		return nil, nil
	}
	f, info := openRegular(path)
	if f == nil {
		return nil, nil
	}
	defer f.Close()
	s := &scriptFile{name: program, path: path, runnable: info.Mode().Perm()&0o111 != 0}
	is, err := s.read(f)
	if !is || err != nil {
		return nil, err
	}
	return s, nil
}

// openRegular opens a file that is one, and waits for nothing; nil is that it can't.
func openRegular(path string) (*os.File, os.FileInfo) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, nil
	}
	return f, info
}

// read reads the first line, and the comments up to the first command. It reports
// whether it is a script.
func (s *scriptFile) read(file io.Reader) (bool, error) {
	in := bufio.NewReader(io.LimitReader(file, maxScriptHead))
	if head, _ := in.Peek(2); string(head) != "#!" {
		return false, nil
	}
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 {
			return true, nil
		}
		if errors.Is(err, io.EOF) && number > 1 && s.cut(file) {
			return true, usagef("%q has more than %d KiB of comments before its first command", s.name, maxScriptHead>>10)
		}
		text := strings.TrimSuffix(string(line), "\n")
		switch {
		case number == 1:
			if err := s.readInterpreter(text); err != nil {
				return true, err
			}
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
// follows as one argument.
func (s *scriptFile) readInterpreter(line string) error {
	if strings.HasSuffix(line, "\r") {
		return refuse(api.CodeUsage, "such as: sed -i 's/\\r$//' "+s.name, "%q has the line ends of Windows, so that its interpreter "+
			"would be %q, which is not there: convert it", s.name, strings.TrimSpace(line[2:])+"\r")
	}
	program, arg, _ := strings.Cut(strings.Trim(line[2:], " \t"), " ")
	if before, after, ok := strings.Cut(program, "\t"); ok {
		program, arg = before, after+" "+arg
	}
	if program == "" || bytes.IndexByte([]byte(line), 0) >= 0 {
		return usagef("the first line of %q names no interpreter", s.name)
	}
	s.interpreter = []string{program}
	if arg = strings.Trim(arg, " \t"); arg != "" {
		s.interpreter = append(s.interpreter, arg)
	}
	return nil
}

// command is how the script is run: by itself where it can be, else by its
// interpreter. With elsewhere the job runs in another directory than that in which
// the script was found.
func (s *scriptFile) command(args []string, elsewhere bool) []string {
	name := s.name
	if elsewhere || !strings.Contains(name, "/") {
		name = s.path
	}
	argv := append([]string{name}, args...)
	if s.runnable && strings.Contains(s.name, "/") {
		return argv
	}
	return append(append([]string(nil), s.interpreter...), argv...)
}
