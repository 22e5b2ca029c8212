package units

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/packaging/test/golden"
	"github.com/gpusched/gpusched/units/contract"
)

// The unit that parks a job runs as the job's user, can control processes, and opens no other GPU.
func TestParkProperties(t *testing.T) {
	spec := ParkSpec{
		Job: 7, Attempt: 2, UID: 1001, Processes: []string{"41:1000", "42:1001"}, Bytes: 40 << 30,
		GPUs: []contract.GPU{{Minor: 3}, {Minor: 1}}, Devices: []cgroup.Device{{Major: 511}}, Program: "/usr/libexec/gpusched/gpusched-nvml",
	}
	if took := ParkTime(spec); took != 220*time.Second {
		t.Errorf("it may take %s", took)
	}
	var b strings.Builder
	for _, l := range Render(ParkProperties(spec)) {
		b.WriteString(l.Name + "=" + l.Text + "\n")
	}
	golden.Check(t, "park.properties", b.String())
	park := ParkName(spec)
	spec.Back, spec.Moves = true, []string{"A=B", "C=D"}
	back := ParkProperties(spec)
	command := back[slices.IndexFunc(back, func(p Property) bool { return p.Name == "ExecStart" })].Value.([]ExecCommand)[0]
	if want := []string{spec.Program, "--unpark", "41:1000", "42:1001", "A=B", "C=D"}; !slices.Equal(command.Args, want) {
		t.Errorf("unparking runs %q", command.Args)
	}
	for name, want := range map[string]string{park: "gpusched-park-7-2.service", ParkName(spec): "gpusched-unpark-7-2.service"} {
		if name != want || !IsErrand(name) {
			t.Errorf("%s is not %s, or no errand", name, want)
		}
	}
}
