package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

//go:embed switches.txt
var switches string

// mutant is one change of one operator, and what came of it.
type mutant struct {
	source
	line   int
	text   string // of the line
	change string
	site   int // the first mutant of its operator
	id     int // what chooses it in the test program
	status string
}

// operator is a function of switches.txt and the changes between which it chooses.
type operator struct {
	name    string
	changes []string
}

var operators = map[token.Token]operator{
	token.EQL: {"mutantNot", []string{"== to !="}},
	token.NEQ: {"mutantNot", []string{"!= to =="}},
	token.LSS: {"mutantLess", []string{"< to <=", "< to >="}},
	token.LEQ: {"mutantAtMost", []string{"<= to <", "<= to >"}},
	token.GTR: {"mutantMore", []string{"> to >=", "> to <="}},
	token.GEQ: {"mutantAtLeast", []string{">= to >", ">= to <"}},
	token.ADD: {"mutantPlus", []string{"+ to -"}},
	token.SUB: {"mutantMinus", []string{"- to +"}},
	token.MUL: {"mutantTimes", []string{"* to /"}},
	token.QUO: {"mutantOver", []string{"/ to *"}},
	token.REM: {"mutantRest", []string{"% to *"}},
}

// edit replaces so many bytes of a file. Of edits at one place the one of lower
// order comes first.
type edit struct {
	at, removes, order int
	text               string
}

// instrumented is one file whose operators are being replaced by switches.
type instrumented struct {
	source
	text    []byte
	set     *token.FileSet
	broken  map[int]bool // lines whose operators are left alone: a switch doesn't compile there
	next    int          // the id of the next mutant
	edits   []edit
	mutants []mutant
}

// instrument puts switches in the place of the operators of a file and returns
// its text, with the same lines, and the mutants, the first with the id next.
func instrument(s source, text []byte, broken map[int]bool, next int) (string, []mutant, error) {
	in := &instrumented{source: s, text: text, set: token.NewFileSet(), broken: broken, next: next}
	f, err := parser.ParseFile(in.set, s.name, text, parser.SkipObjectResolution)
	if err != nil {
		return "", nil, err
	}
	ast.Inspect(f, in.visit)
	return in.applied(), in.mutants, nil
}

func (in *instrumented) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.CONST
	case *ast.BinaryExpr:
		if op, ok := operators[n.Op]; ok && !in.leaves(n) && !isText(n.X) && !isText(n.Y) {
			in.binary(n, op)
		}
	case *ast.UnaryExpr:
		if n.Op == token.SUB && !in.leaves(n) {
			in.wrap(n, 1, fmt.Sprintf("mutantNegative(%d, ", in.add(n.OpPos, "-x to x")))
		}
	case *ast.IncDecStmt:
		if !in.leaves(n) {
			in.step(n)
		}
		return false
	}
	return true
}

func (in *instrumented) binary(n *ast.BinaryExpr, op operator) {
	id := in.add(n.OpPos, op.changes...)
	in.wrap(n, 0, fmt.Sprintf("%s(%d, ", op.name, id))
	if op.name != "mutantNot" {
		in.edits = append(in.edits, edit{at: in.offset(n.OpPos), removes: len(n.Op.String()), text: ","})
	}
}

// step replaces x++ by what does the same also after a for.
func (in *instrumented) step(n *ast.IncDecStmt) {
	x, other := string(in.text[in.offset(n.X.Pos()):in.offset(n.X.End())]), token.DEC
	if n.Tok == token.DEC {
		other = token.INC
	}
	id := in.add(n.TokPos, fmt.Sprintf("%s to %s", n.Tok, other))
	at := in.offset(n.Pos())
	text := fmt.Sprintf("func() { if mutantIs(%d) { %s%s } else { %s%s } }()", id, x, other, x, n.Tok)
	in.edits = append(in.edits, edit{at: at, removes: in.offset(n.End()) - at, text: text})
}

func (in *instrumented) add(at token.Pos, changes ...string) (id int) {
	id = in.next
	line := in.set.Position(at).Line
	text := strings.TrimSpace(strings.Split(string(in.text), "\n")[line-1])
	for _, c := range changes {
		in.mutants = append(in.mutants, mutant{source: in.source, line: line, text: text, change: c, site: id, id: in.next})
		in.next++
	}
	return id
}

// wrap puts n between a call's text and its bracket.
func (in *instrumented) wrap(n ast.Node, removes int, text string) {
	i := len(in.edits) + 1
	in.edits = append(in.edits, edit{in.offset(n.Pos()), removes, i, text},
		edit{at: in.offset(n.End()), order: -i, text: ")"})
}

func (in *instrumented) offset(p token.Pos) int { return in.set.Position(p).Offset }

// leaves reports whether n is on a broken line.
func (in *instrumented) leaves(n ast.Node) bool {
	for line := in.set.Position(n.Pos()).Line; line <= in.set.Position(n.End()).Line; line++ {
		if in.broken[line] {
			return true
		}
	}
	return false
}

func isText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (isText(e.X) || isText(e.Y))
	}
	return false
}

func (in *instrumented) applied() string {
	slices.SortStableFunc(in.edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order))
	})
	var out strings.Builder
	done := 0
	for _, e := range in.edits {
		out.Write(in.text[done:e.at])
		out.WriteString(e.text)
		done = e.at + e.removes
	}
	out.Write(in.text[done:])
	return out.String()
}
