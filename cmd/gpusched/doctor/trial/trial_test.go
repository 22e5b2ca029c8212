package trial

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

var given = Given{Index: 2, Minor: 1, UUID: "GPU-b", MemBytes: 128 << 20, Filtered: true}

// sound returns the findings of a probe that found no problem.
func sound() Finding {
	return Finding{
		Mark: mark, Visible: "0", Proof: refusedText, Memory: "134217728",
		Nodes: []Node{{"/dev/nvidia0", refusedText}, {"/dev/nvidia1", ""}},
		NVML:  NVML{UUIDs: []string{"GPU-b"}}, Sums: Sums{Proof: gpu.ProofWell},
	}
}

// Each problem is found by its own check, and by no other check.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Finding)
		check  string
		health job.Health
		says   string
	}{
		"sound":           {func(*Finding) {}, "", "", ""},
		"uuid":            {func(f *Finding) { f.Visible = "GPU-b" }, "", "", ""},
		"own shut":        {func(f *Finding) { f.Nodes[1].Err = refusedText }, Filter, job.Failing, "its own /dev/nvidia1: refused"},
		"own mode":        {func(f *Finding) { f.Nodes[1].Err = modeText }, Filter, job.Failing, "closed to you by its file mode"},
		"own gone":        {func(f *Finding) { f.Nodes = f.Nodes[:1] }, Filter, job.Failing, "/dev/nvidia1 is not there"},
		"other open":      {func(f *Finding) { f.Nodes[0].Err = "" }, Filter, job.Failing, "does not have: /dev/nvidia0"},
		"no filter":       {func(f *Finding) { f.Proof = "" }, Filter, job.Failing, "proves the filter is open"},
		"no proof":        {func(f *Finding) { f.Proof = absentText }, Filter, job.Failing, "is not there"},
		"cuda":            {func(f *Finding) { f.Visible = "2" }, CUDA, job.Failing, `"2" instead of 0`},
		"no cuda":         {func(f *Finding) { f.Visible = "" }, CUDA, job.Failing, `"" instead of 0`},
		"no library":      {func(f *Finding) { f.NVML = NVML{Problem: "library"} }, Library, job.Failing, "library"},
		"other GPU":       {func(f *Finding) { f.NVML.UUIDs = []string{"GPU-a"} }, Library, job.Failing, "does not see GPU-b"},
		"wrong sums":      {func(f *Finding) { f.Sums = Sums{gpu.ProofWrongSums, "1 + 1"} }, Sum, job.Failing, "fails on it: 1 + 1"},
		"CUDA hangs":      {func(f *Finding) { f.Sums = Sums{gpu.ProofHang, "20s"} }, Sum, job.Failing, "20s"},
		"no CUDA":         {func(f *Finding) { f.Sums = Sums{gpu.ProofNoLibrary, "none"} }, Sum, job.Limited, "not tested: none"},
		"GPU in use":      {func(f *Finding) { f.Sums = Sums{gpu.ProofUnknown, "46"} }, Sum, job.Degraded, "not tested: 46"},
		"no controller":   {func(f *Finding) { f.Memory = "" }, Memory, job.Degraded, "no memory controller"},
		"no limit":        {func(f *Finding) { f.Memory = "max" }, Memory, job.Degraded, "has no limit"},
		"another's limit": {func(f *Finding) { f.Memory = "4096" }, Memory, job.Degraded, "4096 bytes"},
	} {
		f := sound()
		c.change(&f)
		for _, check := range Judge(given, f) {
			switch {
			case check.Name == c.check:
				if check.Health != c.health || !strings.Contains(check.Detail, c.says) || check.Next == "" {
					t.Errorf("%s: %+v", name, check)
				}
			case check.Health != job.Healthy:
				t.Errorf("%s: %+v", name, check)
			}
		}
	}
	f := sound()
	f.Nodes[0].Err, f.Proof, f.Visible = "", "", "2"
	own := given
	own.Filtered = false
	got := Judge(own, f)
	if got[0].Health != job.Degraded || !strings.Contains(got[0].Detail, "scheduler of your own") || got[1].Health != job.Healthy {
		t.Errorf("a user's own scheduler: %+v", got)
	}
}

// The findings can be read back when they are printed between other lines.
func TestProbe(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"/dev/nvidia0": "", "/dev/nvidia1": "", "/dev/nvidiactl": "", "/dev/nvidia-uvm": "",
		"/proc/self/cgroup": "0::/gpujobs.slice/gpujob-7.service\n",
		"/sys/fs/cgroup/gpujobs.slice/gpujob-7.service/memory.max": "134217728\n",
		"/bin/nvml": "#!/bin/sh\n[ \"$1\" != --cuda ] || exit 0; read x; echo '{\"seq\":1,\"devices\":[{\"uuid\":\"GPU-b\"},{\"uuid\":\"\"}]}'\n",
	} {
		if err := os.MkdirAll(filepath.Dir(root+path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w := World{
		Root: root, NVML: []string{root + "/bin/none", root + "/bin/nvml"},
		Getenv: func(name string) string { return map[string]string{"CUDA_VISIBLE_DEVICES": "0"}[name] },
		Open:   func(string) error { return unix.EPERM },
		Access: func(path string) error {
			if strings.HasSuffix(path, "nvidia0") {
				return unix.EPERM
			}
			return nil
		},
	}
	line, err := w.Probe(t.Context()).Line()
	if err != nil {
		t.Fatal(err)
	}
	f, ok := Read([]byte("a line before\n{\"json\": 1}\n" + string(line) + "one after\n"))
	if again, _ := f.Line(); !ok || string(again) != string(line) {
		t.Fatalf("%s becomes %+v", line, f)
	}
	for _, check := range Judge(given, f) {
		if check.Health != job.Healthy {
			t.Errorf("%+v", check)
		}
	}
	w.NVML = w.NVML[:1]
	if f := w.Probe(t.Context()); !strings.Contains(f.NVML.Problem, "not there") {
		t.Errorf("without gpusched-nvml: %+v", f.NVML)
	}
	if _, ok := Read([]byte("nothing\n")); ok {
		t.Error("a probe was read from output without one")
	}
	for _, text := range []string{"", "no json", `{"problem":"driver","detail":"not loaded"}`} {
		if n := readSample([]byte(text)); n.Problem == "" {
			t.Errorf("%q: %+v", text, n)
		}
	}
}
