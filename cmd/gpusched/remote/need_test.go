package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
)

func need(dir string, argv ...string) Need {
	n := Need{Dir: []byte(dir)}
	for _, word := range argv {
		n.Argv = append(n.Argv, []byte(word))
	}
	return n
}

func always() bool { return true }

// What many jobs need is asked once, and so is their PATH.
func TestWhatManyJobsNeedIsOneQuestion(t *testing.T) {
	var q Question
	path := bytes.Repeat([]byte("/opt/bin:"), 400)
	for i := range 50_000 {
		if got, want := q.Add(need(fmt.Sprint("/d", i%3), "python", "train.py"), path), i%3; got != want {
			t.Fatalf("job %d is number %d, want %d", i, got, want)
		}
	}
	for i, c := range []struct {
		path   []byte
		number int
	}{{[]byte("/bin"), 2}, {[]byte{}, 3}, {nil, 0}, {path, 1}} {
		if got := q.Add(need("/d0", "python"), c.path); got != 3+i || q.Needs[got].Path != c.number {
			t.Errorf("with PATH %q it is number %d, %v", c.path, got, q.Needs[got])
		}
	}
	if text, err := json.Marshal(q); err != nil || len(text) > 6000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// However much is needed, question and answer are within their bounds, and of what was not asked nothing is known.
func TestTooMuchToAsk(t *testing.T) {
	for name, long := range map[string]int{"many": 1, "long": 4000} {
		var q Question
		last := 0
		for i := 0; last != Unasked && i < maxNeeds+10; i++ {
			last = q.Add(need(fmt.Sprint("/d", i), strings.Repeat("x", long)), nil)
		}
		text, err := json.Marshal(q)
		if err != nil || len(text) > maxQuestion || last != Unasked || len(q.Needs) < 2000 {
			t.Errorf("%s: %d needs in %d bytes, the last is %d: %v", name, len(q.Needs), len(text), last, err)
		}
		tale := strings.Repeat("\x01", 9000)
		g := Greeting{Looked: q.Look(always, func(Need, []byte) *api.Error { return &api.Error{Message: tale, Hint: tale} })}
		line, err := json.Marshal(g)
		if err != nil || len(line) > maxGreeting {
			t.Errorf("%s: the greeting has %d bytes: %v", name, len(line), err)
		}
		if g.Lack(last) == nil || g.Lack(len(q.Needs)-1) == nil {
			t.Errorf("%s: what nobody has found is there", name)
		}
	}
	var q Question
	if q.Add(need("/d", "x"), make([]byte, maxQuestion)) != Unasked || q.Add(need("/d", "x"), nil) != 0 {
		t.Error("a PATH is longer than a question")
	}
}

// Nothing counts as there but what was found: not the 21st that lacks something, not one for which there was no time,
// and not one that the other side does not know.
func TestWhatIsNotSaidToBeThereIsNot(t *testing.T) {
	var q Question
	for i := range 30 {
		q.Add(need(fmt.Sprint("/d", i), "x"), []byte("/bin"))
	}
	looks := 0
	inTime := func() bool { looks++; return looks <= 28 }
	l := q.Look(inTime, func(n Need, path []byte) *api.Error {
		if string(path) != "/bin" || string(n.Dir) == "/d3" {
			return nil
		}
		return &api.Error{Code: api.CodeUsage, Message: "no " + string(n.Dir)}
	})
	text, err := json.Marshal(l)
	var back Looked
	if err != nil || json.Unmarshal(text, &back) != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if err := back.Lack(i); (err == nil) != (i == 3) {
			t.Errorf("%d: %v", i, err)
		}
	}
	for i, want := range map[int]string{
		20: "no /d20", 27: "not there either", 28: "not looked for", 30: "not looked for", Unasked: "not looked for",
	} {
		if err := back.Lack(i); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %q", i, err, want)
		}
	}
	q.Needs[0].Path = 2
	if l := q.Look(always, func(Need, []byte) *api.Error { return nil }); l.Lack(0) == nil {
		t.Error("it is in a PATH that was not sent")
	}
}
