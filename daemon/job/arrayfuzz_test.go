package job

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/units/contract"
)

func FuzzParseArray(f *testing.F) {
	for _, seed := range []string{
		"", "0-9", "5", "1,4,8-20:4", "0-9%2", "%2", "8,1", "0-99999", "0-1000000:10", "1-3,2", "0-2147483647", "0-9%0",
		"0-9%2147483647", "1:2", "-1", "０", "0-9:2147483647", "+1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseArray(text)
		if err != nil {
			return
		}
		checkArray(t, a)
	})
}

// checkArray checks what must be true of every accepted array.
func checkArray(t *testing.T, a *Array) {
	t.Helper()
	if err := (&Request{Array: a}).Err(); err != nil {
		t.Fatalf("%+v is accepted, and then refused: %v", a, err)
	}
	text, err := json.Marshal(a)
	var again Array
	if err != nil || json.Unmarshal(text, &again) != nil || !reflect.DeepEqual(&again, a) {
		t.Fatalf("%+v is kept as %s, %v", a, text, err)
	}
	n, last := a.Size(), -1
	step := max(1, n/50)
	for at := 0; at < n; at += step {
		index := a.At(at)
		if index <= last || index > MaxTaskIndex || a.Position(index) != at || !a.Has(index) {
			t.Fatalf("task %d of %+v is %d, found again at %d", at, a, index, a.Position(index))
		}
		last = index
	}
	if n < 1 || n > MaxTasks || a.At(n) != -1 || a.Has(a.At(n-1)+1) || a.Has(-1) {
		t.Fatalf("%+v has %d tasks", a, n)
	}
}

// The command that --param produces is never larger than a command may be. It differs from the
// given command only where the given command names a parameter.
func FuzzSweep(f *testing.F) {
	for _, seed := range [][2]string{
		{"lr=1e-3,1e-4\nseed=1,2,3", "train\n--lr={lr}\n{seed}{other}"}, {"a=", "x"}, {"a=1\na=2", "{a}"}, {"=1", "{}"}, {"{=1", "{{}"},
		{"a=,,,", "{a}{a}"}, {"a={a}\nb={a}", "{b}{{a}}"}, {"a=\x00", "{a}"}, {"a=" + strings.Repeat("x", 999), strings.Repeat("{a}", 999)},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, words, command string) {
		var params []Param
		for word := range strings.SplitSeq(words, "\n") {
			p, err := ParseParam(word)
			if err != nil {
				return
			}
			params = append(params, p)
		}
		a, err := SweepArray(params, 0)
		if err != nil || !jsonKeeps(words) {
			return
		}
		checkArray(t, a)
		s := Submission{Label: Label{Name: "x"}, Request: Request{Array: a}, Payload: Payload{Program: contract.Program{Argv: strings.Split(command, "\n"), EnvMode: contract.EnvClean, Dir: "/"}}}
		if s.Validate() != nil {
			return
		}
		for _, at := range []int{0, a.Size() / 2, a.Size() - 1} {
			checkExpanded(t, a, s.Payload.Argv, a.At(at))
		}
	})
}

// jsonKeeps reports whether JSON transmits the text without a change.
func jsonKeeps(text string) bool { return strings.ToValidUTF8(text, "") == text }

func checkExpanded(t *testing.T, a *Array, argv []string, index int) {
	t.Helper()
	got := a.Expand(argv, index)
	total := 0
	for i, arg := range got {
		total += len(arg) + 1
		if len(arg) > MaxArgBytes {
			t.Fatalf("argument %d of task %d has %d bytes", i, index, len(arg))
		}
		if !strings.Contains(argv[i], "{") && arg != argv[i] {
			t.Fatalf("argument %q names no parameter and becomes %q", argv[i], arg)
		}
	}
	if len(got) != len(argv) || total > MaxPayloadBytes {
		t.Fatalf("task %d has %d arguments of %d bytes", index, len(got), total)
	}
}
