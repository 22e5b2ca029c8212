package onslurm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/slurmexec"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// If only the accounting has a job, the job is found by the tag in its comment or in its command
// line, even after a newline. A longer tag with the same beginning does not match.
func TestMovedInAccounts(t *testing.T) {
	at := func(n int64, fields ...string) string {
		return strings.Join(append([]string{fields[0], fmt.Sprint(n)}, append(fields[1:], "1001")...), separator) + "\n"
	}
	text := at(5, "11", "[moved=box.12.50]", "sbatch") + at(9, "12", "", "sbatch --comment=[moved=box.1.5] -n x") +
		at(7, "13_[0-3]", "note [k=v&moved=box.2.5]", "sbatch") + at(8, "14", "", "sbatch --chdir=/a\nb --comment=[moved=box.4.5]") +
		at(6, "x", "[moved=box.9.9]", "") + at(4, "15", "", "sbatch --job-name=a\n16\x1e7\x1e[moved=box.5.5]\x1e")
	table, err := pastRows(text, separator, len(searchFields))
	if err != nil {
		t.Fatal(err)
	}
	for mark, want := range map[string]job.ID{
		"box.1.5": 12, "box.2.5": 13, "box.12.50": 11, "box.12.5": 0, "box.3.5": 0, "box.9.9": 0, "box.4.5": 14, "box.5.5": 15,
	} {
		if got, last := findInAccounting(table, "moved="+mark); got != want || last.Unix() != 9 {
			t.Errorf("%s is job %d, want %d; the last at %s", mark, got, want, last)
		}
	}
}

// saying returns an engine with fake programs. Each prints a text; a program without a text fails.
func saying(t *testing.T, texts map[string]string) *Engine {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"squeue", "scontrol", "sacct"} {
		text, known := texts[name]
		script := "#!/bin/sh\nexit 1\n"
		if known {
			// The caller passes the separator of the fields as an argument.
			script = `#!/bin/bash
d=$(printf '%s\n' "$@" | sed -n 's/^--Format=JobID:\([^,]*\),.*/\1/p; s/^--delimiter=//p')
sed "s/\x1f/${d:-\x1f}/g" '` + filepath.Join(dir, name+".txt") + "'\n"
			if err := os.WriteFile(filepath.Join(dir, name+".txt"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return New([]string{"PATH=" + dir + ":/usr/bin:/bin"}, 1001, func(string) {})
}

// Moved is certain about a missing job in two cases: the controller forgets nothing, or the
// accounting has a job that was submitted well after the moved job. An accounting that merely
// answers proves nothing.
func TestMovedIsSure(t *testing.T) {
	now := time.Now()
	config := "MinJobAge               = 300 sec\n"
	values := make([]string, len(keyColumns))
	for i, c := range keyColumns {
		values[i] = map[column]string{colJobID: "31", colArrayJobID: "31", colState: "PENDING", colComment: "[moved=box.1.5]"}[c]
	}
	row := strings.Join(values, separator) + separator + "\n"
	account := func(at time.Time, line string) string {
		return strings.Join([]string{"44", fmt.Sprint(at.Unix()), "", line, "1001"}, separator) + "\n"
	}
	for name, c := range map[string]struct {
		ago    time.Duration
		sacct  string // "" means no accounting
		squeue string
		config string
		id     job.ID
		sure   bool
	}{
		"queued":                    {ago: time.Hour, squeue: row, config: config, id: 31, sure: true},
		"just now":                  {ago: time.Minute, config: config, sure: true},
		"just now, nobody knows":    {ago: time.Minute, config: "MinJobAge = (null)\n"},
		"nothing is forgotten":      {ago: 99 * time.Hour, config: "MinJobAge = 0 sec\n", sure: true},
		"the clock was set back":    {ago: -time.Hour, config: config},
		"long ago":                  {ago: time.Hour, config: config},
		"an accounting of nothing":  {ago: time.Hour, config: config, sacct: "\n"},
		"an accounting that is old": {ago: time.Hour, config: config, sacct: account(now.Add(-2*time.Hour), "sbatch")},
		"an accounting just after":  {ago: time.Hour, config: config, sacct: account(now.Add(-59*time.Minute), "sbatch")},
		"an accounting that is new": {ago: time.Hour, config: config, sacct: account(now, "sbatch"), sure: true},
		"it has it":                 {ago: time.Hour, config: config, sacct: account(now, "sbatch --comment=[moved=box.1.5]"), id: 44, sure: true},
	} {
		texts := map[string]string{"squeue": c.squeue, "scontrol": c.config}
		if c.sacct != "" {
			texts["sacct"] = c.sacct
		}
		id, sure, err := saying(t, texts).Moved(t.Context(), "moved", "box.1.5", now.Add(-c.ago))
		if id != c.id || sure != c.sure || err != nil {
			t.Errorf("%s: %d, %v, %v", name, id, sure, err)
		}
	}
	if _, sure, err := saying(t, nil).Moved(t.Context(), "moved", "box.1.5", now); sure || err == nil {
		t.Errorf("Slurm is down: %v, %v", sure, err)
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]bool{
		"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)": true,
		"sbatch: error: Batch job submission failed: Requested node configuration is not available":        true,
		"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation":              false,
		"sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received":              false,
		"sbatch: error: Batch job submission failed: Unexpected message received":                          false,
		"": false,
	} {
		if got := Refused(slurmexec.Refusal("sbatch", text, errors.New("signal: killed"))); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if Refused(nil) || Refused(&api.Error{Code: api.CodeUnreachable, Message: "Slurm's sbatch has not answered for 2m0s"}) {
		t.Error("an unclear error counts as a refusal")
	}
}
