package past

import (
	"bufio"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// The report mentions GPU-hours whose energy is unknown, if there are enough of them.
func TestReportMentionsUnknownEnergy(t *testing.T) {
	for _, c := range []struct {
		hours, known float64
		want         string
	}{
		{0.03, 0.0265, ""}, {0.004, 0, ""}, {100, 99.5, ""}, {5, 5, ""}, {0.03, 0.01, "ENERGY does not include 0.02 of the 0.03 GPU-hours"},
		{100, 50, "ENERGY does not include 50.0 of the 100.0 GPU-hours"},
	} {
		var out strings.Builder
		w := bufio.NewWriter(&out)
		a := &cli.App{Env: cli.Env{Out: &term.Terminal{W: w, Width: 100}}}
		joules := 1.0
		writeReport(a, api.ReportReply{Total: api.ReportRow{Jobs: 1, GPUHours: c.hours, EnergyHours: c.known, EnergyJoules: &joules}}, false)
		w.Flush()
		if text := out.String(); strings.Contains(text, "does not include") != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%v of %v: %s", c.known, c.hours, text)
		}
	}
}
