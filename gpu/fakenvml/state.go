package fakenvml

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// DefaultDir is the state directory if FAKENVML_DIR is not set.
const DefaultDir = "/run/fakenvml"

// DirVariable is the environment variable that names the state directory.
const DirVariable = "FAKENVML_DIR"

// A State is a state directory.
type State struct {
	Dir string
}

// NewState makes dir a state directory with the default GPUs. Every user can claim memory there.
func NewState(dir string) (State, error) {
	claims := filepath.Join(dir, "claims")
	if err := os.MkdirAll(claims, 0o755); err != nil {
		return State{}, fmt.Errorf("making the state directory: %w", err)
	}
	if err := os.Chmod(claims, 0o777|os.ModeSticky); err != nil {
		return State{}, fmt.Errorf("making the state directory: %w", err)
	}
	return State{Dir: dir}, nil
}

// Env returns the environment setting that selects s for the library and simcuda.
func (s State) Env() string {
	return DirVariable + "=" + s.Dir
}

// SetGPUs replaces all GPUs. Each line of key=value pairs makes one GPU, and an empty line makes a
// default GPU.
func (s State) SetGPUs(lines ...string) error {
	return s.replace("gpus", GPUsText(lines...))
}

// GPUsText returns the text of the file "gpus" with the lines given to SetGPUs.
func GPUsText(lines ...string) string {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, "minor=%d %s\n", i, line)
	}
	return b.String()
}

// Islands returns lines for SetGPUs that make eight GPUs in two islands of four. NVLinks join all
// pairs within an island; between islands there is only the path from one NUMA node to the other.
// CPU 0 is near the first island and CPU 1 near the second, so a machine with two CPUs is enough to
// see the difference.
func Islands() []string {
	var lines []string
	for i := range 8 {
		island := i / 4
		lines = append(lines, fmt.Sprintf("island=%d lanes=4 numa=%d cpus=%d", island+1, island, island))
	}
	return lines
}

// SetIslands replaces the GPUs with those of Islands.
func (s State) SetIslands() error {
	return s.SetGPUs(Islands()...)
}

// SetInit sets the result of nvmlInit: a code, "hang", "crash", or "0" for success.
func (s State) SetInit(answer string) error {
	return s.replace("init", answer+"\n")
}

// SetTopology sets what happens to calls that compare two GPUs: after "hang" they hang, and after
// "" they are answered.
func (s State) SetTopology(answer string) error {
	return s.replace("topology", answer+"\n")
}

// SetPark sets what the calls do that park processes. The package comment lists the possible words.
func (s State) SetPark(words ...string) error {
	return s.replace("park", strings.Join(words, " ")+"\n")
}

// ProcessState returns the state of a process in the driver, as in cuda.h: 0 running, 1 locked,
// 2 checkpointed, 3 failed.
func (s State) ProcessState(pid int) (state int) {
	text, _ := os.ReadFile(filepath.Join(s.Dir, fmt.Sprintf("claims/.%d.state", pid)))
	_, _ = fmt.Sscan(string(text), &state)
	return state
}

// Claim makes a process hold this many bytes on the GPU with this minor number. The package comment
// lists the possible words.
func (s State) Claim(pid, minor int, bytes uint64, words ...string) error {
	text := strconv.FormatUint(bytes, 10) + " " + strings.Join(words, " ") + "\n"
	return s.replace(claimName(pid, minor), text)
}

// Unclaim removes a claim. It succeeds if there is none.
func (s State) Unclaim(pid, minor int) error {
	err := os.Remove(filepath.Join(s.Dir, claimName(pid, minor)))
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("ending a claim: %w", err)
	}
	return nil
}

func claimName(pid, minor int) string {
	return fmt.Sprintf("claims/%d-%d", pid, minor)
}

// replace writes a file atomically, so that the library never reads half of it.
func (s State) replace(name, text string) error {
	path := filepath.Join(s.Dir, name)
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err := os.WriteFile(temp, []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
