package units

import (
	"slices"
	"testing"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units/contract"
)

// A test of a GPU opens that GPU alone, has no network and no rights, and can't take long.
func TestProofProperties(t *testing.T) {
	spec := ProofSpec{
		GPU: contract.GPU{Index: 2, Minor: 3, UUID: "GPU-b"}, Devices: []cgroup.Device{{Major: 511, Minor: 0}}, GIDs: []uint32{44},
		Program: "/usr/libexec/gpusched/gpusched-nvml",
	}
	want := map[string]string{
		"DeviceAllow": "/dev/char/195:3 rw/dev/char/195:255 rw/dev/char/511:0 rw", "DevicePolicy": "closed", "DynamicUser": "yes",
		"PrivateNetwork": "yes", "NoNewPrivileges": "yes", "SupplementaryGroups": "44", "TimeoutStartUSec": "20000000us",
	}
	got := map[string]string{}
	for _, l := range Render(ProofProperties(spec)) {
		got[l.Name] += l.Text
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is %q, want %q", name, got[name], text)
		}
	}
	spec.Scope.User = true
	for _, p := range ProofProperties(spec) {
		if slices.Contains(forRoot, p.Name) {
			t.Errorf("a user's own systemd gets %s", p.Name)
		}
	}
	if name := ProofName(12); name != "gpusched-test-12.service" || !IsErrand(name) || IsErrand("gpujob-1.service") {
		t.Errorf("%s", name)
	}
}
