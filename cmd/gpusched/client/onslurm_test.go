package client

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/onslurm"
)

// The script tries each option that a command does not support on Slurm. Package sbatch tests the
// options of jobs.
func TestOptionsOnSlurm(t *testing.T) {
	script, err := os.ReadFile("testdata/script/slurm.txt")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, g := range onslurm.OptionGaps() {
		if strings.HasPrefix(g.What, "-") || strings.HasPrefix(g.What, "update ") {
			continue
		}
		tried++
		words := regexp.QuoteMeta(g.What[:strings.Index(g.What, " --")]) + ` .*\n?.*` + regexp.QuoteMeta(g.Why)
		if !regexp.MustCompile(words).Match(script) {
			t.Errorf("nobody tries 'gpusched %s'", g.What)
		}
	}
	if tried == 0 {
		t.Error("there are none")
	}
}
