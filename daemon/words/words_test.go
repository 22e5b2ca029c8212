package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// use is a place in the source that uses a code.
type use struct {
	at   string
	args int // number of arguments after the code in a call; -1: the code is not in a call
}

var codeForm = regexp.MustCompile(`^(usage|not-found|forbidden|never|policy|conflict|unavailable|detail|notice)/[a-z-]+$`)

// findUses finds all codes that the source uses, outside tests and this package.
func findUses(t *testing.T) map[job.Code][]use {
	t.Helper()
	found := map[job.Code][]use{}
	set := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "../words/") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		args := map[ast.Expr]int{}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				for i, a := range n.Args {
					args[a] = len(n.Args) - i
				}
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				if n.Kind == token.STRING && err == nil && codeForm.MatchString(text) {
					found[job.Code(text)] = append(found[job.Code(text)], use{set.Position(n.Pos()).String(), args[n] - 1})
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var verb = regexp.MustCompile(`%(?:\[(\d+)\])?[vq]`)

// argNumbers returns the numbers of the arguments that a format uses.
func argNumbers(t *testing.T, format string) map[int]bool {
	t.Helper()
	used := map[int]bool{}
	for i, m := range verb.FindAllStringSubmatch(format, -1) {
		at := i + 1
		if m[1] != "" {
			at, _ = strconv.Atoi(m[1])
		}
		used[at] = true
	}
	if strings.Count(format, "%") != len(verb.FindAllString(format, -1)) {
		t.Errorf("%q has a verb that is neither %%v nor %%q", format)
	}
	return used
}

// Invariant 1: each code has a sentence that uses all its arguments.
func TestEachCodeHasASentence(t *testing.T) {
	named := findUses(t)
	for code, list := range named {
		s, known := sentences[code]
		if !known {
			t.Errorf("%s: %s has no sentence", list[0].at, code)
			continue
		}
		used := argNumbers(t, s.text)
		for i := range argNumbers(t, s.hint) {
			used[i] = true
		}
		for _, u := range list {
			if u.args >= 0 && u.args != len(used) {
				t.Errorf("%s: %s has %d arguments, its sentence uses %d", u.at, code, u.args, len(used))
			}
			if u.args >= 0 && u.args > 0 && !used[u.args] {
				t.Errorf("%s: the sentence of %s does not use its last argument", u.at, code)
			}
		}
	}
	for code := range sentences {
		if !codeForm.MatchString(string(code)) || named[code] == nil {
			t.Errorf("nobody names the code %s", code)
		}
	}
}

// Another release may send a message without its arguments. The message must still make sense.
func TestMessagesWithoutArgumentsSaySomething(t *testing.T) {
	for code := range sentences {
		for _, args := range [][]any{nil, {"x"}} {
			if got := Say(job.Say(code, args...)); got == "" {
				t.Errorf("%s with %d arguments says nothing", code, len(args))
			}
		}
	}
}

func TestSingular(t *testing.T) {
	for want, m := range map[string]job.Message{
		"--gpu-ids names 1 GPU but --gpus asks for 2: leave --gpus out":                                  job.Say("usage/gpu-ids-count", 1, 2),
		"--retries 1 is more than this site allows, 0 (use fewer --retries)":                             job.Say("policy/retries", 1, 0),
		"the queue is full, with 1 job (try again when some have started)":                               job.Say("policy/queue", 1),
		"group 1 has 1 job waiting, its limit (try again when some have started)":                        job.Say("policy/group-queue", 1, 1),
		"you have 11 jobs waiting, this site's limit (try again when some have started, or cancel some)": job.Say("policy/user-queue", 11),
	} {
		if got := Say(m); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	for text, want := range map[string]string{
		"1 GPUs": "1 GPU", "(1 processes": "(1 process", "1.1 GPUs": "1.1 GPUs", "1 separate ranges": "1 separate range", "1 dependencies": "1 dependency",
	} {
		if got := fill("%v", []any{text}); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
	if got := job.Count(2, "process") + job.Count(1, "retry") + job.Count(0, "retry"); got != "2 processes1 retry0 retries" {
		t.Error(got)
	}
}
