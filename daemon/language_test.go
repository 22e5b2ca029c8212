package daemon_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// weededPhrases lists phrases that comments and documents must not use. Each comes with a better
// wording.
var weededPhrases = []struct {
	phrase *regexp.Regexp
	say    string
}{
	{regexp.MustCompile(`(?i)\btells (whether|how|what|which|where|when|why)\b`), "reports"},
	{regexp.MustCompile(`(?i)\btold of\b`), "told about, or reported"},
	{regexp.MustCompile(`(?i)\btells? of\b`), "reports"},
	{regexp.MustCompile(`(?i)\bis no error\b`), "is not an error"},
	{regexp.MustCompile(`(?i)\b(0|nil) is no\b`), "means no"},
	{regexp.MustCompile(`(?i)\b(is|was|being) (not )?given on\b`), "reassigned"},
	{regexp.MustCompile(`(?i)\btakes in that\b`), "notes that"},
	{regexp.MustCompile(`(?i)\b(came|comes|come) upon\b`), "finds"},
	{regexp.MustCompile(`\b(is|are|was|were) (for|by|of|from|at|until|as|in|on|with) (how|what|when|which|whom|whose)\b`), "the duration, the factor, the time"},
	{regexp.MustCompile(`\b(has|have|having) (it|them|systemd|(a|the|each|every) (job|unit|daemon|shell|process|kernel)) (be|ask|wait|come|begin|keep|print|read|run|start)\b`), "makes or lets, or the plain verb"},
	{regexp.MustCompile(`(^|[.!] )(Who|What) (is|are|was|were|has|have|had|can|may|does|do|did)\b[^?.:;]*[.:;]`), "the noun: users who, files that"},
}

// TestWeededPhrases looks for banned phrases in the comments of all Go
// files, and in whole documents.
func TestWeededPhrases(t *testing.T) {
	read := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || d.Name() == "CHANGELOG.md": // old entries of the changelog stay as they are
			return nil
		}
		for _, text := range prose(t, path) {
			read++
			checkPhrases(t, path, strings.Join(strings.Fields(text), " "))
		}
		return nil
	})
	if err != nil || read < 1000 {
		t.Errorf("%d texts were read, %v", read, err)
	}
}

// TestSubjectsOfCommits looks for weeded phrases in the subjects of commits that are newer than
// this rule. In a tree without a history it finds no commits.
func TestSubjectsOfCommits(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "log", "--since=2026-11-29T18:00:00Z", "--format=%s").Output()
	if err != nil {
		t.Log("no history is here: ", err)
	}
	for subject := range strings.Lines(string(out)) {
		checkPhrases(t, "commit", strings.TrimSpace(subject))
	}
}

func checkPhrases(t *testing.T, path, text string) {
	for _, w := range weededPhrases {
		if found := w.phrase.FindString(text); found != "" {
			t.Errorf("%s: say %q, not %q: %.80s", path, w.say, found, text)
		}
	}
}

// prose returns the comments of a Go file, or a whole document.
func prose(t *testing.T, path string) []string {
	switch filepath.Ext(path) {
	case ".go":
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		return comments(file)
	case ".md", ".txt", ".7", ".8", ".service", ".socket", ".slice", ".sh":
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return []string{string(text)}
	}
	return nil
}

func comments(file *ast.File) []string {
	var all []string
	for _, group := range file.Comments {
		all = append(all, group.Text())
	}
	return all
}

// TestTopLevel: the top folder of the tree, which people see first, has only these entries.
func TestTopLevel(t *testing.T) {
	want := strings.Fields(`CHANGELOG.md LICENSE Makefile README.md cgroup cmd contrib daemon go.mod go.sum
		gpu nfpm.yaml packaging units`)
	built, err := os.ReadFile("../.gitignore") // this file lists build results, such as those of 'go build ./cmd/gpusched'
	if err != nil {
		t.Fatal(err)
	}
	ignored := func(name string) bool {
		return slices.ContainsFunc(strings.Fields(string(built)), func(pattern string) bool {
			match, err := filepath.Match(strings.Trim(pattern, "/"), name)
			return err == nil && match && strings.HasPrefix(pattern, "/")
		})
	}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !ignored(e.Name()) && !slices.Contains(want, e.Name()) {
			t.Errorf("%s is not one of the entries at the top: %s", e.Name(), want)
		}
	}
}

// TestMakeHelp: 'make help' lists each target that has a description.
func TestMakeHelp(t *testing.T) {
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("make", "-s", "-C", "..", "help").CombinedOutput()
	if err != nil {
		t.Fatal(err, string(out))
	}
	targets := 0
	for line := range strings.Lines(string(text)) {
		rule, does, ok := strings.Cut(line, " ## ")
		if name, _, isRule := strings.Cut(rule, ":"); ok && isRule && !strings.HasPrefix(rule, "\t") {
			targets++
			if !regexp.MustCompile(`(?m)^` + name + ` +` + regexp.QuoteMeta(strings.TrimSpace(does)) + `$`).Match(out) {
				t.Errorf("make help does not have %s: %s", name, does)
			}
		}
	}
	if targets < 20 {
		t.Errorf("only %d targets say what they do", targets)
	}
}

// TestOneFlagRefreshesGoldens: all tests use the flag -update to rewrite golden files.
// With any other name, some packages would fail with "flag provided but not defined".
func TestOneFlagRefreshesGoldens(t *testing.T) {
	defined := regexp.MustCompile(`flag\.Bool\("(rewrite|golden|regenerate|write|accept)"`)
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if m := defined.Find(text); m != nil {
			t.Errorf("%s has %s: call it -update, as everywhere", path, m)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The figures of the README are measured: those of its section of figures are in RESULTS.md, where
// they may have further digits.
func TestTheReadmesFiguresAreMeasured(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	results, err := os.ReadFile("../contrib/bench/RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Figures\n")
	section, _, _ = strings.Cut(section, "\n## ")
	figures := regexp.MustCompile(`\d+\.\d+|\d+\sMiB`).FindAllString(section, -1)
	if len(figures) < 3 {
		t.Errorf("the README has the figures %q", figures)
	}
	for _, f := range figures {
		f = strings.Join(strings.Fields(f), " ")
		if !regexp.MustCompile(`[^.\d]` + regexp.QuoteMeta(f)).Match(results) {
			t.Errorf("RESULTS.md does not have the README's figure %q", f)
		}
	}
}

// The README is written for people who have never heard of gpusched. Everything else is in the
// manual. The glossary is one table, with two rows for the head and one for each word.
func TestDocumentsAreShort(t *testing.T) {
	for _, d := range []struct {
		path, lineStart string
		most            int
	}{{"../README.md", "", 100}, {"../packaging/man/gpuschedd.8", "", 400}, {"../contrib/GLOSSARY.md", "|", 52}} {
		text, err := os.ReadFile(d.path)
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, d.lineStart) {
				lines++
			}
		}
		if lines > d.most {
			t.Errorf("%s has %d lines, over %d", d.path, lines, d.most)
		}
	}
}
