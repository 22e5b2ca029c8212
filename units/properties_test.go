package units

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/packaging/test/golden"
	"github.com/gpusched/gpusched/units/contract"
)

func fullSpec() Spec {
	return Spec{
		ID: 42, Attempt: 2, Placed: time.UnixMicro(1_772_359_200_000_123), UID: 1001, GID: 2001, User: "alice", JobName: "train",
		GPUs:        []contract.GPU{{Index: 0, Minor: 3, UUID: "GPU-aaaa"}, {Index: 1, Minor: 2, UUID: "GPU-bbbb"}},
		Devices:     []cgroup.Device{{Major: 511, Minor: 0}, {Major: 195, Minor: 254}},
		Limits:      cgroup.Limits{MemBytes: 64 << 30, TasksMax: 16384, CPUs: 8},
		Rlimits:     []contract.Limit{{Name: "NOFILE", Soft: 1024, Hard: 524288}, {Name: "MEMLOCK", Soft: Infinity, Hard: Infinity}},
		CPUAffinity: "0-15,32-47", CPUShare: 8,
		TimeLimit: 2 * time.Hour, Grace: 30 * time.Second,
		Launcher: "/usr/libexec/gpusched/gpusched-job", SpecPath: "/run/gpusched/specs/42.2", Screen: true, TermMain: true,
	}
}

// The golden files show every property of a unit. A change in them affects every job, so review it
// carefully.
func TestPropertiesGolden(t *testing.T) {
	for name, spec := range map[string]Spec{
		"full": fullSpec(),
		"task": {
			ID: 43, Attempt: 1, UID: 1002, User: "bob", JobName: "fold", Array: 40, Task: 3,
			Launcher: "/usr/libexec/gpusched/gpusched-job", SpecPath: "/run/gpusched/specs/43.1",
		},
		"plain": {
			ID: 7, Attempt: 1, UID: 1002, User: "bob", JobName: "prepare",
			Launcher: "/usr/libexec/gpusched/gpusched-job", SpecPath: "/run/gpusched/specs/7.1",
		},
		"container": {
			ID: 8, Attempt: 1, UID: 1002, User: "bob", JobName: "image", Engine: contract.Podman,
			Launcher: "/usr/libexec/gpusched/gpusched-job", SpecPath: "/run/gpusched/specs/8.1",
		},
	} {
		var b strings.Builder
		for _, l := range Render(Properties(spec)) {
			fmt.Fprintf(&b, "%s=%s\n", l.Name, l.Text)
		}
		golden.Check(t, name+".properties", b.String())
	}
}

// A job with MPS requires the unit that serves MPS. The golden file shows that unit.
func TestServingMPS(t *testing.T) {
	spec := fullSpec()
	spec.MPS, spec.GPUs = true, spec.GPUs[:1]
	aux, props := CutAuxiliary(Properties(spec))
	needs := slices.ContainsFunc(props, func(p Property) bool { return p.Name == "Requires" && reflect.DeepEqual(p.Value, []string{aux.Name}) })
	if aux.Name != "gpusched-mps-1001-0.service" || !IsMPS(aux.Name) || !needs || len(Render(props)) != len(Render(Properties(spec))) {
		t.Errorf("%q, required: %t", aux.Name, needs)
	}
	var b strings.Builder
	for _, l := range Render(aux.Properties) {
		fmt.Fprintf(&b, "%s=%s\n", l.Name, l.Text)
	}
	golden.Check(t, "mps.properties", b.String())
	if none, same := CutAuxiliary(Properties(fullSpec())); none.Name != "" || len(same) != len(Properties(fullSpec())) {
		t.Errorf("without MPS: %q", none.Name)
	}
}

// The types are those of the bus: systemd refuses an int64 for a size.
func TestPropertyTypes(t *testing.T) {
	want := map[string]string{
		"Description": "string", "Type": "string", "RemainAfterExit": "bool", "ExecStart": "[]units.ExecCommand", "ExecReload": "[]units.ExecCommand", "ExecStopPost": "[]units.ExecCommand",
		"NotifyAccess": "string", "KillMode": "string", "SendSIGKILL": "bool", "TimeoutStartUSec": "uint64", "TimeoutStopUSec": "uint64",
		"OOMPolicy": "string", "IgnoreSIGPIPE": "bool", "Slice": "string", "User": "string",
		"Group": "string", "DevicePolicy": "string", "DeviceAllow": "[]units.DeviceAllow", "MemoryAccounting": "bool",
		"CPUAccounting": "bool", "TasksAccounting": "bool", "MemoryMax": "uint64", "MemorySwapMax": "uint64",
		"TasksMax": "uint64", "CPUQuotaPerSecUSec": "uint64", "LimitNOFILE": "uint64", "LimitNOFILESoft": "uint64",
		"LimitMEMLOCK": "uint64", "LimitMEMLOCKSoft": "uint64", "StandardInput": "string", "StandardOutput": "string",
		"StandardError": "string", "SyslogIdentifier": "string", "SyslogLevelPrefix": "bool", "LogRateLimitIntervalUSec": "uint64", "LogRateLimitBurst": "uint32",
		"LogExtraFields": "[][]uint8", "CPUAffinity": "[]uint8", "CPUWeight": "uint64", "Environment": "[]string",
	}
	props := Properties(fullSpec())
	for _, p := range props {
		if got := reflect.TypeOf(p.Value).String(); got != want[p.Name] {
			t.Errorf("%s is %s, want %s", p.Name, got, want[p.Name])
		}
		delete(want, p.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	hard := slices.IndexFunc(props, func(p Property) bool { return p.Name == "LimitNOFILE" })
	if soft := slices.IndexFunc(props, func(p Property) bool { return p.Name == "LimitNOFILESoft" }); soft < hard {
		t.Error("the soft limit comes before the hard one")
	}
}

// The unit's limits let the launcher run, whatever the submitter's limits are; the launcher sets
// the submitter's limits last.
func TestLimitsForTheLauncher(t *testing.T) {
	s := fullSpec()
	s.Rlimits = []contract.Limit{
		{Name: "NOFILE", Soft: 6, Hard: 1024}, {Name: "STACK", Soft: 4096, Hard: 4096}, {Name: "AS", Soft: 4096, Hard: 4096}, {Name: "CPU", Soft: 1, Hard: 2},
	}
	got := map[string]any{}
	for _, p := range Properties(s) {
		if strings.HasPrefix(p.Name, "Limit") {
			got[p.Name] = p.Value
		}
	}
	want := map[string]any{
		"LimitNOFILE": uint64(1024), "LimitNOFILESoft": uint64(64), "LimitCPU": uint64(2), "LimitCPUSoft": uint64(1),
		"LimitSTACK": uint64(1 << 20), "LimitSTACKSoft": uint64(1 << 20),
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// isPublic reports whether a unit may have this property. Other properties, such as
// WorkingDirectory or RootDirectory, may contain something that nobody else should read (invariant
// 2).
func isPublic(name string) bool {
	return slices.Contains(strings.Fields(`Description Type RemainAfterExit ExecStart ExecReload ExecStopPost NotifyAccess KillMode SendSIGKILL
		TimeoutStartUSec TimeoutStopUSec OOMPolicy IgnoreSIGPIPE Slice User Group DevicePolicy DeviceAllow MemoryAccounting
		CPUAccounting TasksAccounting CPUWeight MemoryMax MemorySwapMax TasksMax CPUQuotaPerSecUSec CPUAffinity StandardInput StandardOutput
		StandardError Environment SyslogIdentifier SyslogLevelPrefix LogRateLimitIntervalUSec LogRateLimitBurst LogExtraFields`), name) || strings.HasPrefix(name, "Limit")
}

// For any spec, no property is private, only the job's own GPUs are open, and text for people is
// printable (invariants 2 and 4).
func TestPropertiesOfAnySpec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySpec(t)
		own := map[string]bool{cgroup.Device{Major: 195, Minor: 255}.Path(): len(s.GPUs) > 0, cgroup.Device{Major: 195, Minor: 254}.Path(): true}
		for _, g := range s.GPUs {
			own[cgroup.GPU(uint32(g.Minor)).Path()] = true
		}
		closed := false
		for _, p := range Properties(s) {
			if !isPublic(p.Name) {
				t.Fatalf("property %s", p.Name)
			}
			switch v := p.Value.(type) {
			case []ExecCommand:
				args := map[string][]string{"ExecStart": {s.Launcher, s.SpecPath}, "ExecReload": {s.Launcher, contract.TellFlag, s.SpecPath},
					"ExecStopPost": {s.Launcher, contract.ScreenEndFlag, s.SpecPath}}[p.Name]
				if len(v) != 1 || !slices.Equal(v[0].Args, args) || v[0].Path != s.Launcher || v[0].IgnoreFailure != (p.Name != "ExecStart") {
					t.Fatalf("commands %+v", v)
				}
			case []string:
				for i, name := range []string{"GPUSCHED_JOB_ID", "GPUSCHED_ATTEMPT", "GPUSCHED_GPU_IDS", "GPUSCHED_GPU_UUIDS"} {
					if p.Name != "Environment" || len(v) != 4 || !strings.HasPrefix(v[i], name+"=") {
						t.Fatalf("%s is %q", p.Name, v)
					}
				}
			case []DeviceAllow:
				checkDevices(t, v, own)
			case string:
				closed = closed || p == Property{"DevicePolicy", "closed"}
				if strings.ContainsFunc(v, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Fatalf("%s is %q", p.Name, v)
				}
			}
		}
		if !closed {
			t.Fatal("devices are open")
		}
	})
}

func checkDevices(t *rapid.T, list []DeviceAllow, own map[string]bool) {
	for _, d := range list {
		if !strings.HasPrefix(d.Path, "/dev/char/") || d.Access != "rw" {
			t.Fatalf("device entry %+v", d)
		}
		if strings.HasPrefix(d.Path, "/dev/char/195:") && !own[d.Path] {
			t.Fatalf("device entry %+v, which is not the job's", d)
		}
	}
}

func anySpec(t *rapid.T) Spec {
	device := rapid.Custom(func(t *rapid.T) cgroup.Device {
		return cgroup.Device{Major: rapid.SampledFrom([]uint32{10, 195, 511}).Draw(t, "major"), Minor: rapid.Uint32Range(0, 255).Draw(t, "minor")}
	})
	gpu := rapid.Custom(func(t *rapid.T) contract.GPU {
		return contract.GPU{Index: rapid.IntRange(0, 15).Draw(t, "index"), Minor: rapid.IntRange(0, 15).Draw(t, "minor"), UUID: "GPU-1"}
	})
	return Spec{
		ID: rapid.Int64Min(1).Draw(t, "id"), UID: rapid.IntRange(0, 70000).Draw(t, "uid"), GID: rapid.IntRange(0, 70000).Draw(t, "gid"),
		User: rapid.String().Draw(t, "user"), JobName: rapid.String().Draw(t, "name"),
		GPUs: rapid.SliceOfN(gpu, 0, 4).Draw(t, "gpus"), Devices: rapid.SliceOfN(device, 0, 20).Draw(t, "devices"),
		Limits:   cgroup.Limits{MemBytes: rapid.Int64().Draw(t, "mem"), CPUs: rapid.IntRange(0, 256).Draw(t, "cpus")},
		Grace:    time.Duration(rapid.Int64().Draw(t, "grace")),
		Launcher: "/l", SpecPath: "/s", CPUAffinity: rapid.SampledFrom([]string{"", "0-3", "\x1b"}).Draw(t, "cpus"),
	}
}

// Times and limits with a special meaning are set correctly.
func TestPropertyEdges(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Spec)
		prop   string
		want   any
	}{
		{"the time limit is not systemd's", func(*Spec) {}, "RuntimeMaxUSec", nil},
		{"no grace: what was printed is copied", func(s *Spec) { s.Grace, s.Screen, s.Log = 0, false, true }, "TimeoutStopUSec", uint64(1e6)},
		{"no grace: a millisecond, since 0 becomes infinity", func(s *Spec) { s.Grace, s.Screen = 0, false }, "TimeoutStopUSec", uint64(1000)},
		{"an image of Apptainer is mounted", func(s *Spec) { s.GPUs, s.Devices, s.Engine = nil, nil, contract.Apptainer }, "DeviceAllow", []DeviceAllow{{"/dev/char/10:229", "rw"}}},
		{"no grace: a container is removed", func(s *Spec) { s.Grace, s.Engine = 0, contract.Podman }, "TimeoutStopUSec", uint64(5e6)},
		{"Apptainer keeps nothing", func(s *Spec) { s.Screen, s.Engine = false, contract.Apptainer }, "ExecStopPost", nil},
		{"no memory limit", func(s *Spec) { s.Limits.MemBytes = 0 }, "MemoryMax", nil},
		{"no swap limit without one of memory", func(s *Spec) { s.Limits.MemBytes = 0 }, "MemorySwapMax", nil},
		{"swap is zero", func(*Spec) {}, "MemorySwapMax", uint64(0)},
		{"no limit of tasks", func(s *Spec) { s.Limits.TasksMax = 0 }, "TasksMax", nil},
		{"no limit of CPUs", func(s *Spec) { s.Limits.CPUs = 0 }, "CPUQuotaPerSecUSec", nil},
		{"all CPUs", func(s *Spec) { s.CPUAffinity = "" }, "CPUAffinity", nil},
		{"no list of CPUs", func(s *Spec) { s.CPUAffinity = "many" }, "CPUAffinity", nil},
		{"weight of eight CPUs", func(*Spec) {}, "CPUWeight", uint64(80)},
		{"weight of none", func(s *Spec) { s.CPUShare = 0 }, "CPUWeight", uint64(10)},
		{"weight below none", func(s *Spec) { s.CPUShare = -1 }, "CPUWeight", uint64(10)},
		{"highest weight", func(s *Spec) { s.CPUShare = 1 << 40 }, "CPUWeight", uint64(10_000)},
		{"bits of CPUs", func(s *Spec) { s.CPUAffinity = "1,8-9" }, "CPUAffinity", []byte{2, 3}},
		{"the account's own group", func(s *Spec) { s.GID = 0 }, "Group", nil},
		{"no device at all", func(s *Spec) { s.GPUs, s.Devices = nil, nil }, "DeviceAllow", nil},
		{"no control node without a GPU", func(s *Spec) { s.GPUs, s.Devices = nil, []cgroup.Device{{Major: 10, Minor: 229}} }, "DeviceAllow", []DeviceAllow{{"/dev/char/10:229", "rw"}}},
		{"a job that has no place yet", func(s *Spec) { s.Attempt, s.GPUs = 0, nil }, "Description", "gpusched job 42 (train) of alice"},
		{"a job without a GPU", func(s *Spec) { s.GPUs = nil }, "Description", "gpusched job 42 (train) of alice without a GPU"},
		{"a long name", func(s *Spec) { s.JobName = strings.Repeat("é", 300) }, "Description",
			"gpusched job 42 (" + strings.Repeat("é", 100) + ") of alice on GPU 0,1"},
	} {
		spec := fullSpec()
		c.change(&spec)
		var got any
		for _, p := range Properties(spec) {
			if p.Name == c.prop {
				got = p.Value
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %s is %v, want %v", c.name, c.prop, got, c.want)
		}
	}
}

// A job's own slice has the limits and the device filter, which also lets nodes be made. The unit
// in that slice has no filter of its own. The properties of all other jobs go to the unit.
func TestSplit(t *testing.T) {
	spec := fullSpec()
	if slice, of, unit := Split(Properties(spec)); slice != "" || of != nil || !reflect.DeepEqual(unit, Properties(spec)) {
		t.Errorf("without a container: slice %q with %v", slice, of)
	}
	spec.Engine = contract.Docker
	slice, of, unit := Split(Properties(spec))
	var b strings.Builder
	for _, l := range Render(of) {
		fmt.Fprintf(&b, "%s=%s\n", l.Name, l.Text)
	}
	golden.Check(t, "slice.properties", b.String())
	placed := false
	for _, p := range unit {
		if strings.HasPrefix(p.Name, "Device") {
			t.Errorf("the unit has %s", p.Name)
		}
		placed = placed || p.Name == "Slice" && p.Value == slice
	}
	if slice != "gpujobs-u1001-j42.slice" || !placed {
		t.Errorf("slice %q, unit %v", slice, unit)
	}
	if s, err := OriginOf(Properties(spec)).Spec(Name(42)); err != nil || s.Engine != contract.Docker {
		t.Errorf("recovered: %+v, %v", s, err)
	}
	if got, want := (Scope{}).JobGroup(1001, 42, contract.Docker), "/gpujobs.slice/gpujobs-u1001.slice/gpujobs-u1001-j42.slice"; got != want {
		t.Errorf("control group %s", got)
	}
	for _, s := range []Scope{{User: true}, {}} {
		for _, e := range []contract.Engine{"", contract.Podman, contract.Docker} {
			if got := s.OwnSlice(1001, 42, e) != ""; got != (e == contract.Docker && !s.User) {
				t.Errorf("%v %q: %t", s, e, got)
			}
		}
	}
}
