package await

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// This table lists the directories whose waits must have a limit.
var waiting = []string{"packaging", "contrib", "gpu/fakenvml"}

// For each function that may wait without a limit, this table has the reason.
var unbounded = map[string]string{
	"packaging/test/vm/box.go spawn":             "the container lives as long as its machine, and is ended by its handle",
	"packaging/test/vm/box.go command":           "Run bounds it; who has it from Command or Terminal talks to it",
	"packaging/test/vm/close_test.go startOwner": "a process that its test kills",
	"packaging/test/vm/emulated.go spawn":        "QEMU lives as long as its machine, and is ended by its handle",
	"packaging/test/vm/ssh.go connect":           "the connection lives as long as its machine; the log-in has the context's limit",
	"packaging/test/vm/ssh.go session":           "as the box's command",
	"packaging/test/attacker/voice.go halfOpen":  "a connection that stays is what it is for",
	"packaging/test/await/await.go Watch":        "the others' loop",
}

// TestNoNakedWaits searches the sources for waits that could last forever: commands without a
// context or with an unbounded context, endless loops that sleep, connections without a deadline,
// and new contexts that are passed to functions outside this package.
func TestNoNakedWaits(t *testing.T) {
	seen, used := 0, map[string]bool{}
	for _, tree := range waiting {
		err := filepath.WalkDir(filepath.Join("../../..", tree), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") {
				return err
			}
			seen++
			name, _ := filepath.Rel("../../..", path)
			for _, f := range nakedIn(t, path) {
				where := name + " " + f.function
				if used[where] = true; unbounded[where] == "" {
					t.Errorf("%s:%d: %s: %s: bound it by package await, or say in unbounded why not", name, f.line, f.function, f.what)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 100 {
		t.Errorf("only %d files were read", seen)
	}
	for where := range unbounded {
		if !used[where] {
			t.Errorf("unbounded names %s, which waits for nothing without a limit", where)
		}
	}
}

// TestNoNakedWaits finds each of these waits, but not the same code with a limit.
func TestNakedWaitsAreFound(t *testing.T) {
	for body, want := range map[string]string{
		`exec.Command("true").Run()`:                                           "a command without a context",
		`exec.CommandContext(ctx, "true").Run()`:                               "a command in a context that this function does not bound",
		`c, _ := await.For(ctx, "x", 1); exec.CommandContext(c, "true").Run()`: "",
		`for { time.Sleep(1) }`:                                                "a loop without an end that sleeps",
		`for i := 0; ; i++ { select { case <-time.After(1): } }`:               "a loop without an end that sleeps",
		`for time.Now().Before(end) { time.Sleep(1) }`:                         "",
		`for { accept() }`:                                                     "",
		`f(context.Background())`:                                              "a context without an end",
		`await.Output(context.Background(), 1, argv)`:                          "",
		`signal.NotifyContext(context.Background(), os.Interrupt)`:             "",
		`c, _ := net.Dial("unix", "x"); c.Read(nil)`:                           "a connection without a deadline",
		`c, _ := net.Dial("unix", "x"); c.SetReadDeadline(soon); c.Read(nil)`:  "",
		`unix.Connect(fd, to); unix.Recvmsg(fd, b, nil, 0)`:                    "a connection without a deadline",
		`unix.SetsockoptTimeval(fd, 1, 2, t); unix.Connect(fd, to); recv(fd)`:  "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() {\n"+body+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range file.Decls {
			for _, f := range naked(d.(*ast.FuncDecl), false) {
				got = append(got, f.what)
			}
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("in %q found %q, want %q", body, got, want)
		}
	}
}

type finding struct {
	pos            token.Pos
	line           int
	function, what string
}

func nakedIn(t *testing.T, path string) (found []finding) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			for _, n := range naked(f, strings.HasSuffix(path, "_test.go")) {
				n.line = files.Position(n.pos).Line
				found = append(found, n)
			}
		}
	}
	return found
}

// naked searches one function for waits without a limit. In a test, contexts count as limited,
// because 'go test' ends the test.
func naked(f *ast.FuncDecl, test bool) (found []finding) {
	all := callsOf(f.Body)
	has := func(names ...string) bool {
		return slices.ContainsFunc(all, func(c *ast.CallExpr) bool { return slices.Contains(names, calleeName(c)) })
	}
	add := func(at ast.Node, format string) {
		found = append(found, finding{pos: at.Pos(), function: f.Name.Name, what: format})
	}
	bounded := map[ast.Expr]bool{} // contexts that are passed to functions which limit them
	for _, c := range all {
		name := calleeName(c)
		if strings.HasPrefix(name, "await.") || name == "signal.NotifyContext" || name == "context.WithTimeout" || !strings.Contains(name, ".") && isOurs(name) {
			for _, arg := range c.Args {
				bounded[arg] = true
			}
		}
	}
	deadline := has("unix.SetsockoptTimeval", "setTimeouts") || slices.ContainsFunc(all, func(c *ast.CallExpr) bool {
		_, method, _ := strings.Cut(calleeName(c), ".")
		return slices.Contains([]string{"SetDeadline", "SetReadDeadline", "SetWriteDeadline"}, method)
	})
	for _, c := range all {
		switch name := calleeName(c); {
		case name == "exec.Command":
			add(c, "a command without a context")
		case name == "exec.CommandContext" && !test && !has("await.For", "For"):
			add(c, "a command in a context that this function does not bound")
		case (name == "context.Background" || name == "context.TODO") && !test && !bounded[c]:
			add(c, "a context without an end")
		case (name == "net.Dial" || name == "unix.Connect") && !deadline:
			add(c, "a connection without a deadline")
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if loop, ok := n.(*ast.ForStmt); ok && loop.Cond == nil && slices.ContainsFunc(callsOf(loop.Body), sleeps) {
			add(loop, "a loop without an end that sleeps")
		}
		return true
	})
	return found
}

// isOurs reports whether an unqualified name is the name of a function of package await. The
// package calls its own functions without a package name.
func isOurs(name string) bool {
	return slices.Contains([]string{"For", "Until", "Watch", "Output"}, name)
}

func sleeps(c *ast.CallExpr) bool {
	return slices.Contains([]string{"time.Sleep", "time.After", "time.Tick", "time.NewTicker", "time.NewTimer", "pause"}, calleeName(c))
}

// callsOf returns all calls in a piece of code.
func callsOf(in ast.Node) (all []*ast.CallExpr) {
	ast.Inspect(in, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			all = append(all, c)
		}
		return true
	})
	return all
}

// calleeName returns the name of a called function, such as "exec.Command", "conn.SetDeadline" or
// "f".
func calleeName(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return fmt.Sprint(x.Name, ".", f.Sel.Name)
		}
		return "?." + f.Sel.Name // a method of a field, or of another call's result
	}
	return ""
}
