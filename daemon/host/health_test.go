package host

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// If the journal is healthy, the check names the uids that can't read it with this version of
// systemd. Otherwise it names what is wrong.
func TestDirectoryUIDs(t *testing.T) {
	for version, told := range map[string]bool{"252.39-1~deb12u2": false, "257.13-1~deb13u1": true, "253": true, "": false} {
		if c := CheckDirectoryUIDs(job.Check{Health: job.Healthy}, version); (c.Next != "") != told || c.Health != job.Healthy {
			t.Errorf("%s: %+v", version, c)
		}
	}
	if c := CheckDirectoryUIDs(job.Check{Health: job.Degraded, Next: "x"}, "257"); c.Next != "x" {
		t.Errorf("%+v", c)
	}
}

// A version of systemd that opens the device filters at each reload is reported as degraded.
func TestVersionsOfSystemd(t *testing.T) {
	for version, want := range map[string]job.Health{
		"247.3-7+deb11u8": job.Degraded, "249.11-0ubuntu3.23": job.Degraded, "251": job.Degraded,
		"252.39-1~deb12u2": job.Healthy, "252-46.el9_5.3": job.Healthy, "257.13-1~deb13u1": job.Healthy, "262~rc1": job.Healthy,
		"": job.Healthy, "v999": job.Healthy,
	} {
		c := judgeSystemd(version, "over the system bus", nil)
		if c.Health != want || !strings.Contains(c.Detail, version) || (c.Next != "") != (want == job.Degraded) {
			t.Errorf("%q: %+v, want %s", version, c, want)
		}
		if want == job.Degraded && (!strings.Contains(c.Detail, "open all GPUs") || !strings.Contains(c.Next, "252")) {
			t.Errorf("%q: %+v does not say why, and what to do", version, c)
		}
	}
	if c := judgeSystemd("252", "over the system bus", []string{"OOMPolicy"}); c.Health != job.Degraded || !strings.Contains(c.Detail, "OOMPolicy") {
		t.Errorf("%+v", c)
	}
}
