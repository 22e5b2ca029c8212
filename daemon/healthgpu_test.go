package daemon

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// Health says that the driver is too old to park jobs, but only where the site allows parking.
func TestParkingNeedsADriver(t *testing.T) {
	for driver, old := range map[string]bool{"550.54.15": true, "570.86.10": false, "1000.1": false, "": false, "unknown": false} {
		if got := checkParking(&job.View{GPUSource: job.GPUSource{Driver: driver}}, true); len(got) == 1 != old {
			t.Errorf("driver %q: %v", driver, got)
		} else if old && (got[0].Health != job.Degraded || !strings.Contains(got[0].Detail, driver)) {
			t.Errorf("driver %q: %+v", driver, got[0])
		}
		if got := checkParking(&job.View{GPUSource: job.GPUSource{Driver: driver}}, false); got != nil {
			t.Errorf("driver %q, not allowed: %v", driver, got)
		}
	}
}
