package fakenvml

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// DefaultDir is the state directory where FAKENVML_DIR names none.
const DefaultDir = "/run/fakenvml"

// DirVariable is the environment variable that names the state directory.
const DirVariable = "FAKENVML_DIR"

// State is a state directory.
type State struct {
	Dir string
}

// NewState makes dir a state directory that every user can claim memory in,
// with the default GPUs.
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

// Env is the setting that points the library and simcuda at s.
func (s State) Env() string {
	return DirVariable + "=" + s.Dir
}

// SetGPUs makes the GPUs those of the lines, each of key=value pairs; an empty
// line is a default GPU. Without lines there are no GPUs.
func (s State) SetGPUs(lines ...string) error {
	return s.replace("gpus", GPUsText(lines...))
}

// GPUsText is the text of the file "gpus" for lines as SetGPUs takes them.
func GPUsText(lines ...string) string {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, "minor=%d %s\n", i, line)
	}
	return b.String()
}

// Islands are the lines of eight GPUs in two islands of four, for SetGPUs:
// inside an island NVLinks join every two, between the islands there is only the
// way from one NUMA node to the other. CPU 0 is next to the first island, CPU 1
// to the second, so that a machine with two shows the difference.
func Islands() []string {
	var lines []string
	for i := range 8 {
		island := i / 4
		lines = append(lines, fmt.Sprintf("island=%d lanes=4 numa=%d cpus=%d", island+1, island, island))
	}
	return lines
}

// SetIslands makes the GPUs those of Islands.
func (s State) SetIslands() error {
	return s.SetGPUs(Islands()...)
}

// SetInit says what nvmlInit answers: a code, "hang", "crash", or "0" for success.
func (s State) SetInit(answer string) error {
	return s.replace("init", answer+"\n")
}

// SetTopology says what the calls that compare two GPUs do: "hang", or "" for
// what they should.
func (s State) SetTopology(answer string) error {
	return s.replace("topology", answer+"\n")
}

// Claim makes process pid hold bytes on the GPU of that minor, with more words
// as the package comment lists them.
func (s State) Claim(pid, minor int, bytes uint64, words ...string) error {
	text := strconv.FormatUint(bytes, 10) + " " + strings.Join(words, " ") + "\n"
	return s.replace(claimName(pid, minor), text)
}

// Unclaim ends a claim; one that is not there is not an error.
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

// replace writes a file whole, so that the library never reads half of it.
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
