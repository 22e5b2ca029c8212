package job

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/units/contract"
)

func TestParseArray(t *testing.T) {
	for text, want := range map[string]struct {
		numbers []int
		limit   int
	}{
		"0-3":          {[]int{0, 1, 2, 3}, 0},
		"5":            {[]int{5}, 0},
		"1,4,8-16:4%2": {[]int{1, 4, 8, 12, 16}, 2},
		"8,1":          {[]int{1, 8}, 0},
		"0-5:4":        {[]int{0, 4}, 0},
		"1000000":      {[]int{1_000_000}, 0},
	} {
		a, err := ParseArray(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got []int
		for i := range a.Size() {
			got = append(got, a.At(i))
		}
		if !reflect.DeepEqual(got, want.numbers) || a.Limit != want.limit {
			t.Errorf("%q is %v %%%d", text, got, a.Limit)
		}
	}
	for _, text := range []string{"", "-", "3-1", "a", "0-9%0", "0-9%", "0-3,2", "0-3,3", "0-9:0", "0-1000001", "0-100000", "+1", "0--1"} {
		if a, err := ParseArray(text); err == nil {
			t.Errorf("%q is read as %+v", text, a)
		}
	}
}

// A comma within brackets or quotation marks, or after a backslash, belongs to the value.
func TestParamValues(t *testing.T) {
	for text, want := range map[string][]string{
		"1,2":                    {"1", "2"},
		"[64,64],[128,128]":      {"[64,64]", "[128,128]"},
		"{a: [1,2], b: (3,4)},x": {"{a: [1,2], b: (3,4)}", "x"},
		`"a, b",'c,d',e`:         {"a, b", "c,d", "e"},
		`f("a]",1),2`:            {`f("a]",1)`, "2"},
		`"a, b`:                  {`"a`, " b"},
		`a\,b,c\d`:               {"a,b", `c\d`},
		"[1,2":                   {"[1", "2"},
		"1),(2,3":                {"1)", "(2", "3"},
		"it's,that's":            {"it's", "that's"},
		`5",6",ü',x'`:            {`5"`, `6"`, "ü'", "x'"},
		"[it's,1],[that's,2]":    {"[it's,1]", "[that's,2]"},
		"a,,b,":                  {"a", "", "b", ""},
		`say="a,b",c`:            {`say="a,b"`, "c"},
	} {
		p, err := ParseParam("x=" + text)
		if err != nil || !slices.Equal(p.Values, want) {
			t.Errorf("%s: %q, %v", text, p.Values, err)
		}
	}
}

func TestSweep(t *testing.T) {
	var params []Param
	for _, text := range []string{"lr=1e-3,1e-4", "seed=1,2,3"} {
		p, err := ParseParam(text)
		if err != nil {
			t.Fatal(err)
		}
		params = append(params, p)
	}
	a, err := SweepArray(params, 2)
	if err != nil || a.Size() != 6 || a.Limit != 2 {
		t.Fatalf("%+v, %v", a, err)
	}
	var got []string
	for i := range a.Size() {
		got = append(got, strings.Join(a.Expand([]string{"x{lr}", "{seed}{other}"}, a.At(i)), " "))
	}
	want := []string{"x1e-3 1{other}", "x1e-3 2{other}", "x1e-3 3{other}", "x1e-4 1{other}", "x1e-4 2{other}", "x1e-4 3{other}"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	many := Param{Name: "a", Values: strings.Split(strings.Repeat("1,", 400), ",")}
	if _, err := SweepArray([]Param{many, {Name: "b", Values: many.Values}}, 0); err == nil {
		t.Error("160000 combinations are accepted")
	}
	for _, bad := range []Array{
		{Ranges: []Range{{1, 2, 1}}, Params: params[:1]},
		{Ranges: []Range{{0, 2, 1}}, Params: params[:1]},
		{Ranges: []Range{{0, 3, 1}}, Params: []Param{params[0], params[0]}},
		{Ranges: []Range{{0, 1, 1}}, Params: []Param{{Name: "a", Values: []string{"\x00", ""}}}},
	} {
		var p Problems
		if bad.check(&p); p == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// From returns the rest of an array without its first tasks.
func TestArrayFrom(t *testing.T) {
	for position, want := range []string{"0-6:3,9-10%2", "3-6:3,9-10%2", "6,9-10%2", "9-10%2", "10%2", "%2"} {
		a, err := ParseArray("0-6:3,9-10%2")
		if err != nil {
			t.Fatal(err)
		}
		if got := a.From(position).Spec(); got != want {
			t.Errorf("from %d: %s, not %s", position, got, want)
		}
	}
}

// An array at a limit is valid, and an array beyond it is not.
func TestArrayLimits(t *testing.T) {
	apart := make([]Range, MaxRanges)
	for i := range apart {
		apart[i] = Range{2 * i, 2 * i, 1}
	}
	values := func(n int) []string { return slices.Repeat([]string{"v"}, n) }
	all := Range{0, MaxTasks - 1, 1}
	for name, edge := range map[string]struct{ within, beyond Array }{
		"tasks":  {Array{Ranges: []Range{all}}, Array{Ranges: []Range{{0, MaxTasks, 1}}}},
		"number": {Array{Ranges: []Range{{0, MaxTaskIndex, 1000}}}, Array{Ranges: []Range{{0, MaxTaskIndex + 1, 1000}}}},
		"runs":   {Array{Ranges: apart}, Array{Ranges: append(apart, Range{2 * MaxRanges, 2 * MaxRanges, 1})}},
		"combinations": {
			Array{Ranges: []Range{all}, Params: []Param{{"a", values(1000)}, {"b", values(MaxTasks / 1000)}}},
			Array{Ranges: []Range{all}, Params: []Param{{"a", values(1000)}, {"b", values(MaxTasks/1000 + 1)}}},
		},
		"bytes of the parameters": {
			Array{Ranges: []Range{{0, 0, 1}}, Params: []Param{{"a", []string{strings.Repeat("v", MaxArgBytes-1)}}}},
			Array{Ranges: []Range{{0, 0, 1}}, Params: []Param{{"a", []string{strings.Repeat("v", MaxArgBytes)}}}},
		},
	} {
		var within, beyond Problems
		if edge.within.check(&within); within != nil {
			t.Errorf("%s: %v", name, within)
		}
		if edge.beyond.check(&beyond); len(beyond) != 1 {
			t.Errorf("%s: one beyond has the problems %q", name, beyond)
		}
	}
	if a, err := SweepArray([]Param{{"a", values(1000)}, {"b", values(MaxTasks / 1000)}}, 0); err != nil || a.Size() != MaxTasks {
		t.Errorf("a sweep of all the tasks an array can have: %v", err)
	}
}

// With the longest values filled in, a command may be as large as a command without parameters.
func TestExpansionLimits(t *testing.T) {
	a := &Array{Ranges: []Range{{0, 0, 1}}, Params: []Param{{"a", []string{strings.Repeat("v", MaxArgBytes-1)}}}}
	most := make([]string, MaxPayloadBytes/(MaxArgBytes+1))
	for i := range most {
		most[i] = "x{a}"
	}
	for _, c := range []struct {
		argv     []string
		problems int
	}{{[]string{"x{a}"}, 0}, {[]string{"xy{a}"}, 1}, {most, 0}, {append(slices.Clone(most), ""), 1}} {
		var p Problems
		if a.checkExpansion(c.argv, &p); len(p) != c.problems {
			t.Errorf("%d arguments like %q: %q", len(c.argv), c.argv[0], p)
		}
	}
}

// All cases of Judge, for a job that has run before and a job that has not.
func TestDependencies(t *testing.T) {
	for _, c := range []struct {
		kind    DependencyKind
		state   State
		started bool
		want    Verdict
	}{
		{AfterStart, Queued, false, Unmet}, {AfterStart, Starting, false, Unmet}, {AfterStart, Running, false, Met},
		{AfterStart, Queued, true, Met}, {AfterStart, Spawned, false, Unmet}, {AfterStart, Spawned, true, Met}, {AfterStart, Cancelled, false, Impossible}, {AfterStart, Failed, true, Met},
		{AfterOK, Running, true, Unmet}, {AfterOK, Completed, true, Met}, {AfterOK, Failed, true, Impossible}, {AfterOK, Lost, true, Impossible},
		{AfterFail, Completed, true, Impossible}, {AfterFail, TimedOut, true, Met}, {AfterFail, Ending, true, Unmet},
		{AfterAny, Cancelled, false, Met}, {AfterAny, Queued, true, Unmet},
	} {
		if got := (Dependency{c.kind, 1}).Judge(c.state, c.started); got != c.want {
			t.Errorf("%s on %s (started %t): %d", c.kind, c.state, c.started, got)
		}
	}
}

// A small command with large parameters, or a large one with small parameters, must not exceed the
// kernel's limit, because the scheduler would have to keep it in memory.
func TestExpandedCommandsAreBounded(t *testing.T) {
	sweep := func(argv ...string) error {
		a, err := SweepArray([]Param{{Name: "a", Values: []string{"", strings.Repeat("x", 100_000)}}, {Name: "b", Values: []string{"1"}}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := Submission{Label: Label{Name: "x"}, Request: Request{Array: a}, Payload: Payload{Program: contract.Program{Argv: argv, EnvMode: contract.EnvClean, Dir: "/"}}}
		return s.Validate()
	}
	for _, argv := range [][]string{{"{a}"}, {"{{a}", "{a{b}}", "a}{"}, {strings.Repeat("{b}", 40_000)}, {strings.Repeat("{", 130_000)}} {
		if err := sweep(argv...); err != nil {
			t.Errorf("%.20q: %v", argv, err)
		}
	}
	many := make([]string, 30)
	for i := range many {
		many[i] = "{a}"
	}
	for want, argv := range map[string][]string{
		"usage/expanded-arg 200000 131071":       {"{a}{a}"},
		"usage/expanded-command 3000030 2097152": many,
	} {
		if err := sweep(argv...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v", argv, err)
		}
	}
}
