package job

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/units/contract"
)

// Everything that a submission can contain adds more to the job's weight than its own bytes, since
// the weight represents the user's share of the state file.
func TestWeightCoversTheSubmission(t *testing.T) {
	none := (&Job{}).Weight()
	if none < 1000 {
		t.Errorf("a job without anything weighs %d bytes", none)
	}
	long := strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		j    Job
		more int64 // the least weight that it adds
	}{
		"name":         {Job{Label: Label{Name: long}}, 1000},
		"comment":      {Job{Label: Label{Comment: long}}, 1000},
		"both":         {Job{Label: Label{Name: long, Comment: long}}, 2000},
		"tags":         {Job{Label: Label{Tags: map[string]string{long: long}}}, 2000},
		"dependencies": {Job{Label: Label{Name: long}, Request: Request{After: make([]Dependency, 100)}}, 2600},
		"ranges":       {Job{Request: Request{Array: &Array{Ranges: make([]Range, 100)}}}, 2400},
		"parameters":   {Job{Request: Request{Array: &Array{Params: []Param{{Name: long, Values: []string{long, long}}}}}}, 3000},
		"empty values": {Job{Request: Request{Array: &Array{Params: []Param{{Values: make([]string, 1000)}}}}}, 16_000},
		"private part": {Job{Life: Life{Bytes: 1000}}, 1000},
		"all of it":    {Job{Life: Life{Bytes: 1000}, Label: Label{Name: long}}, 2000},
	} {
		if got := c.j.Weight(); got < none+c.more {
			t.Errorf("%s: %d bytes, and %d without", name, got, none)
		}
	}
	task := Job{Life: Life{Task: &Task{Array: 1}, Bytes: 1 << 20}, Label: Label{Name: long}}
	if got := task.Weight(); got != none {
		t.Errorf("a task weighs %d bytes, though its array has all it brings", got)
	}
}

// The size of a payload is at least that of its texts, including their terminators.
func TestSizeOfAPayload(t *testing.T) {
	empty := (&Payload{}).Size()
	for name, c := range map[string]struct {
		y    Payload
		more int64
	}{
		"dir":    {Payload{Program: contract.Program{Dir: "/home"}}, 5},
		"argv":   {Payload{Program: contract.Program{Argv: []string{"abc", ""}}}, 5},
		"env":    {Payload{Program: contract.Program{Env: []string{"A=1"}}}, 4},
		"setup":  {Payload{Program: contract.Program{Setup: contract.Setup{Modules: []string{"a"}, Conda: "/c", Venv: "/v", Command: "true"}}}, 10},
		"limits": {Payload{Program: contract.Program{Dir: "/home"}, Limits: make([]contract.Limit, 2)}, 5 + 2*limitBytes},
	} {
		if got := c.y.Size(); got != empty+c.more {
			t.Errorf("%s: %d bytes more than nothing, want %d", name, got-empty, c.more)
		}
	}
}
