package trial

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

// A Finding is the result of a probe. It is printed on one line.
type Finding struct {
	Mark    string `json:"gpusched_probe"` // tells the line from other output
	Visible string `json:"cuda_visible_devices"`
	Nodes   []Node `json:"nodes"` // the GPUs' device nodes
	Proof   string `json:"proof"` // the error from opening the device filter's probe node; "" if there was none
	Memory  string `json:"memory_max"`
	NVML    NVML   `json:"nvml"`
	Sums    Sums   `json:"sums"`
}

// Sums is what a test with CUDA found inside the job.
type Sums struct {
	Proof gpu.Proof `json:"proof"` // "": the test could not run
	Text  string    `json:"text"`  // for people
}

// A Node is a device node of a GPU. Err is the reason why it can't be opened, or "".
type Node struct {
	Path string `json:"path"`
	Err  string `json:"err,omitempty"`
}

// NVML is what NVIDIA's library reports inside the job.
type NVML struct {
	Problem string   `json:"problem,omitempty"` // the reason why the other fields are unknown
	UUIDs   []string `json:"uuids,omitempty"`   // UUIDs of the GPUs that the library sees
}

// mark is the value of Finding.Mark.
const mark = "1"

// cudaTime is the time limit for a computation, which may hang.
const cudaTime = 20 * time.Second

// nvmlTime is the time limit for a question to the driver, which may hang.
const nvmlTime = 20 * time.Second

// A World gives a probe access to its surroundings. The function Inside returns the real World.
type World struct {
	Root   string                   // directory of /dev, /proc and /sys; "" except in tests
	Access func(path string) error  // checks whether a node could be opened
	Open   func(path string) error  // opens a node and closes it
	Getenv func(name string) string // reads the job's environment
	NVML   []string                 // the paths where gpusched-nvml may be
}

// Inside returns the World that the calling process sees.
func Inside(getenv func(string) string) World {
	w := World{
		Access: func(path string) error { return unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.W_OK, 0) },
		Open: func(path string) error {
			fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		},
		Getenv: getenv,
		NVML:   []string{"/usr/libexec/gpusched/gpusched-nvml"},
	}
	if self, err := os.Executable(); err == nil { // a user's own scheduler has its programs in one directory
		dir := filepath.Dir(self)
		w.NVML = append(w.NVML, filepath.Join(dir, "gpusched-nvml"), filepath.Join(dir, "../libexec/gpusched/gpusched-nvml"))
	}
	return w
}

var gpuNode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^nvidia[0-9]+$`)
})

// Probe collects the findings (invariant 1).
func (w World) Probe(ctx context.Context) Finding {
	f := Finding{Mark: mark, Visible: w.Getenv("CUDA_VISIBLE_DEVICES"), Memory: w.memoryMax(), NVML: w.askNVML(ctx), Sums: w.testCUDA(ctx)}
	entries, _ := os.ReadDir(w.Root + "/dev")
	for _, e := range entries {
		if gpuNode().MatchString(e.Name()) {
			path := "/dev/" + e.Name()
			f.Nodes = append(f.Nodes, Node{path, textOf(w.Access(w.Root + path))})
		}
	}
	slices.SortFunc(f.Nodes, func(a, b Node) int { return strings.Compare(a.Path, b.Path) })
	f.Proof = textOf(w.Open(w.Root + contract.ProbePath))
	return f
}

// These are the words for the errors that Judge knows.
const (
	refusedText = "refused" // refused by the device filter
	absentText  = "not there"
	modeText    = "closed to you by its file mode"
)

func textOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, unix.EPERM):
		return refusedText
	case errors.Is(err, unix.ENOENT):
		return absentText
	case errors.Is(err, unix.EACCES):
		return modeText
	}
	return err.Error()
}

// memoryMax returns the memory limit of the job's control group, or "".
func (w World) memoryMax() string {
	groups, _ := os.ReadFile(w.Root + "/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			text, _ := os.ReadFile(filepath.Join(w.Root, "/sys/fs/cgroup", path, "memory.max"))
			return strings.TrimSpace(string(text))
		}
	}
	return ""
}

// askNVML runs gpusched-nvml inside the job. That program reads the driver's data once.
func (w World) askNVML(ctx context.Context) NVML {
	ctx, cancel := context.WithTimeout(ctx, nvmlTime)
	defer cancel()
	for _, program := range w.NVML {
		if _, err := os.Stat(program); err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, program)
		cmd.Stdin = strings.NewReader(`{"op":"sample","seq":1}` + "\n")
		out, err := cmd.Output()
		if err != nil {
			return NVML{Problem: "gpusched-nvml: " + err.Error()}
		}
		return readSample(out)
	}
	return NVML{Problem: "gpusched-nvml is not there"}
}

// testCUDA tests with CUDA whether the job's GPU computes.
func (w World) testCUDA(ctx context.Context) Sums {
	ctx, cancel := context.WithTimeout(ctx, cudaTime)
	defer cancel()
	for _, program := range w.NVML {
		if _, err := os.Stat(program); err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, program, "--cuda").Output()
		text := strings.TrimSpace(string(out))
		var exit *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return Sums{gpu.ProofHang, "CUDA did not return within " + cudaTime.String()}
		case err != nil && !errors.As(err, &exit):
			return Sums{Text: err.Error()}
		case exit != nil:
			return Sums{gpu.ProofOf(exit.ExitCode(), text), cmp.Or(text, exit.Error())}
		}
		return Sums{gpu.ProofWell, text}
	}
	return Sums{Text: "gpusched-nvml is not there"}
}

func readSample(line []byte) (n NVML) {
	var s struct {
		Problem string `json:"problem"`
		Detail  string `json:"detail"`
		Devices []struct {
			UUID   string `json:"uuid"`
			Health string `json:"health"`
		} `json:"devices"`
	}
	if err := json.Unmarshal(line, &s); err != nil {
		return NVML{Problem: "can't read the answer of gpusched-nvml"}
	}
	if n.Problem = s.Problem; s.Detail != "" {
		n.Problem += " (" + s.Detail + ")"
	}
	for _, d := range s.Devices {
		if d.UUID != "" {
			n.UUIDs = append(n.UUIDs, d.UUID)
		}
	}
	return n
}

// Line returns the finding as it is printed.
func (f Finding) Line() ([]byte, error) {
	line, err := json.Marshal(f)
	return append(line, '\n'), err
}

// Read finds a probe's line in a job's output.
func Read(output []byte) (f Finding, ok bool) {
	for line := range bytes.Lines(output) {
		if err := json.Unmarshal(line, &f); err == nil && f.Mark == mark {
			return f, true
		}
	}
	return Finding{}, false
}
