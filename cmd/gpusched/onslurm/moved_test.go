package onslurm

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// A job that only the accounting has is found by the tag in its comment, or in the command line with which it
// was submitted; one whose tag begins alike is another.
func TestMovedInAccounts(t *testing.T) {
	row := func(fields ...string) string { return strings.Join(fields, separator) + "\n" }
	text := row("11", "[moved=box.12.50]", "sbatch") + row("12", "", "sbatch --comment=[moved=box.1.5] -n x") +
		row("13_[0-3]", "note [k=v&moved=box.2.5]", "sbatch") + "rubbish\n" + row("x", "[moved=box.9.9]", "")
	for mark, want := range map[string]job.ID{
		"box.1.5": 12, "box.2.5": 13, "box.12.50": 11, "box.12.5": 0, "box.3.5": 0, "box.9.9": 0,
	} {
		if got := inAccounts(text, "moved="+mark); got != want {
			t.Errorf("%s is job %d, want %d", mark, got, want)
		}
	}
}
