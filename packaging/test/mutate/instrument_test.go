package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInstrument(t *testing.T) {
	for line, want := range map[string]string{
		"x := a == nil":            "x := mutantNot(1, a == nil)",
		"x := a-b-c":               "x := mutantMinus(1, mutantMinus(2, a,b),c)",
		"x := a < 2*b && -c >= 4":  "x := mutantLess(1, a , mutantTimes(3, 2,b)) && mutantAtLeast(4, mutantNegative(6, c) , 4)",
		"for ; i > 0; m[i+1]-- {}": "for ; mutantMore(1, i , 0); func() { if mutantIs(3) { m[i+1]++ } else { m[i+1]-- } }() {}",
		"const x = 1 + 2":          "const x = 1 + 2",
		`x := a + "b" + c`:         `x := a + "b" + c`,
		"x := a | b << 3":          "x := a | b << 3",
	} {
		got, _, err := instrument(source{"p", "a.go"}, []byte("package p\n\nfunc f() {\n\t"+line+"\n}\n"), nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got = strings.TrimSpace(strings.Split(got, "\n")[3]); got != want {
			t.Errorf("%s is %s, want %s", line, got, want)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+got+"\n}\n", 0); err != nil {
			t.Error(err)
		}
	}
}

const sample = `package sample

type text string

func larger(a, b int) bool { return a > b }

func half(n int) int { return n / 2 }

func unused(a int) bool { return a == 1 }

func joined(a, b text) text { return a + b }

func count(s text) (n int) {
	for range s {
		n++
	}
	return n
}
`

const sampleTest = `package sample

import "testing"

func TestSample(t *testing.T) {
	if !larger(2, 1) || larger(1, 2) || half(3) != 1 || joined("a", "b") != "ab" || count("ab") != 2 {
		t.Fail()
	}
}
`

// A package with its tests, judged: what is reported of each mutant is so.
func TestJudge(t *testing.T) {
	dir := t.TempDir()
	pkg := filepath.Join(dir, "sample")
	if err := os.Mkdir(pkg, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module example.org/m\n\ngo 1.26\n", "sample/sample.go": sample, "sample/sample_test.go": sampleTest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := source{"sample", "sample.go"}
	p, err := build(t.Context(), dir, "sample", []source{s})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range p.judge(t.Context(), s, 1) {
		got[m.change] = m.status
	}
	want := map[string]string{
		"> to >=": "survived", "> to <=": "killed", "/ to *": "killed", "== to !=": "not reached", "++ to --": "killed",
	}
	for change, status := range want {
		if got[change] != status {
			t.Errorf("%s: %q, want %q", change, got[change], status)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
}
