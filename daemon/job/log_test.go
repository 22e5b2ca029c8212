package job

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/units/contract"
)

func TestLogPath(t *testing.T) {
	one := &Job{ID: 42, Label: Label{Name: "a/../b"}, Owner: Owner{User: "alice"}}
	task := &Job{ID: 57, Label: Label{Name: ".."}, Owner: Owner{User: "alice"}}
	task.Task = &Task{Array: 7, Index: 3}
	for _, c := range []struct {
		j             *Job
		pattern, want string
	}{
		{one, "out.txt", "out.txt"}, {one, "%j-%A-%n-%u", "42-42-a_.._b-alice"}, {one, "%%j%%%j", "%j%42"},
		{task, "%h/logs/%j.log", "~/logs/7_3.log"}, {task, "%A/%a/%n/x", "7/3/_/x"}, {task, "%%a", "%a"},
		{task, "%3a-%4A-%5j-%2n", "003-0007-7_3-_"}, {one, "%05j-%1j-%99j", "00042-42-0000000042"}, {one, "%3x%3", "%3x%3"},
	} {
		if got := c.j.LogPath(c.pattern); got != c.want {
			t.Errorf("%s: %s, not %s", c.pattern, got, c.want)
		}
	}
}

func TestCheckLog(t *testing.T) {
	array := &Array{Ranges: []Range{{0, 9, 1}}}
	long := strings.Repeat("x", MaxLogBytes)
	for _, c := range []struct {
		log  contract.Log
		a    *Array
		want Code
	}{
		{contract.Log{}, nil, ""}, {contract.Log{Path: "%h/%j-%A-%n-%u-%%"}, nil, ""}, {contract.Log{Path: "%a"}, array, ""}, {contract.Log{Path: long}, nil, ""},
		{contract.Log{Path: "same"}, array, ""}, {contract.Log{Path: "%j", Truncate: true}, array, ""}, {contract.Log{Path: "%a", Truncate: true}, array, ""}, {contract.Log{Path: "%3a-%5j", Truncate: true}, array, ""},
		{contract.Log{Path: "%a"}, nil, "usage/log-task"}, {contract.Log{Path: "%x"}, nil, "usage/log-sequence"}, {contract.Log{Path: "x%"}, nil, "usage/log-sequence"},
		{contract.Log{Path: "x/%h/y"}, nil, "usage/log-sequence"}, {contract.Log{Path: "%ö"}, nil, "usage/log-sequence"}, {contract.Log{Path: "%3"}, nil, "usage/log-sequence"},
		{contract.Log{Path: "%3n"}, nil, "usage/log-sequence"},
		{contract.Log{Path: long + "x"}, nil, "usage/log"}, {contract.Log{Path: "a\x00b"}, nil, "usage/log"}, {contract.Log{Path: "a\nb"}, nil, "usage/log"},
		{contract.Log{Path: "dir/"}, nil, "usage/log"}, {contract.Log{Truncate: true}, nil, "usage/log-truncate"},
		{contract.Log{Path: "same", Truncate: true}, array, "usage/log-shared"}, {contract.Log{Path: "%%a", Truncate: true}, array, "usage/log-shared"},
	} {
		var p Problems
		checkLog(&c.log, c.a, &p)
		if got := p; c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || got[0].Code != c.want) {
			t.Errorf("%.30q: %v, not %q", c.log.Path, got, c.want)
		}
	}
}
