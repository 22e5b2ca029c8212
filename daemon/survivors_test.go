package daemon

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon/core"
)

// Processes that serve a job do not count as processes that its command left running.
func TestLeftRunning(t *testing.T) {
	asked := ""
	d := assemble(Options{Inside: func(group string) []cgroup.Process {
		asked = group
		return []cgroup.Process{{PID: 1, Name: "gpusched-job", State: 'S'}, {PID: 2, Name: "python", State: 'R'}, {PID: 3, State: '?'}, {PID: 4, State: 'Z'}}
	}})
	n := d.exec.leftRunning(core.Stop{Job: 7, Whose: core.Whose{UID: 1001}})
	if n != 1 || !strings.HasSuffix(asked, "/gpujob-7.service") {
		t.Errorf("%d in %s", n, asked)
	}
}

func TestRemaining(t *testing.T) {
	p := func(state byte, pids ...int) (list []cgroup.Process) {
		for _, pid := range pids {
			list = append(list, cgroup.Process{PID: pid, State: state})
		}
		return list
	}
	for want, list := range map[string][]cgroup.Process{
		"":                                    nil,
		"process 7 did not end after SIGKILL": p('S', 7),
		"process 7 did not end after SIGKILL, the kernel did not let go (state D)":                 p('D', 7),
		"processes 7, 8 did not end after SIGKILL":                                                 p('?', 7, 8),
		"processes 7, 8, 9, 2 more did not end after SIGKILL, the kernel did not let go (state D)": append(p('Z', 7, 8, 9, 10), p('D', 11)...),
	} {
		if got := survivors(list); got != want {
			t.Errorf("%v: got %q, want %q", list, got, want)
		}
	}
}
