//go:build machine

package check

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/gpu/fakenvml"
	"github.com/gpusched/gpusched/packaging/test/vm"
)

// upgradesFrom is the release from which this tree can be installed over.
const upgradesFrom = "0.1.0"

// gpusSeen waits until the daemon has seen the GPUs.
const gpusSeen = `timeout 60 sh -c 'until gpusched gpus | grep -q A100; do sleep 0.1; done'`

// newest matches the newest release in a changelog.
var newest = regexp.MustCompile(`(?m)^## \[(\d[^]]*)\]`)

// TestUpgradeFromTheRelease: a machine that is busy under the release gets the tree's package.
// Running jobs go on, and all jobs, their history and the orders of administrators are as before.
// Then the queue goes on. The state file after the upgrade is left in .out/state.db, from which a
// release makes a fixture.
func TestUpgradeFromTheRelease(t *testing.T) {
	old := releasedPackage(t)
	l := newLife(t, 10*time.Minute)
	l.simulateGPUs(old)
	if err := l.m.CopyIn(l.ctx, "testdata/busy.sh", "/root/busy.sh", 0o644); err != nil {
		t.Fatal(err)
	}
	l.sh(`sh /root/busy.sh`)
	before := l.facts()

	l.install(built(t, "*.deb"))
	l.checkUnits("active", "enabled")
	l.sh(`gpusched config check`)
	if after := l.facts(); !slices.Equal(after, before) {
		i := 0
		for i < min(len(after), len(before)) && after[i] == before[i] {
			i++
		}
		t.Errorf("line %d of what an upgrade must not change is different; before:\n%s\nafter:\n%s", i+1,
			strings.Join(before[max(0, i-20):], "\n"), strings.Join(after[max(0, i-20):], "\n"))
	}
	l.keepState(filepath.Join(root, ".out/state.db"))
	l.sh(`set -e; ` + gpusSeen + `
gpusched gpu undrain 3; gpusched unpark --all --yes; gpusched release --all --yes
for name in instead frozen many; do gpusched cancel --yes --now $(gpusched list --name $name -o ids); done
for name in wide after held grid; do gpusched wait --timeout 2m $(gpusched list --all --name $name -o ids); done
gpusched logs $(gpusched list --all --name wide -o ids) | grep -qx wait
timeout 120 sh -c 'while gpusched show $(gpusched list --name parked -o ids) --json | grep -q "\"parked\":"; do sleep 0.1; done'`)
}

// facts returns what an upgrade must not change: jobs, the processes of their commands, GPUs that
// are out of service, and reservations.
func (l *machineWithJob) facts() []string {
	l.t.Helper()
	l.sh(gpusSeen)
	var facts strings.Builder
	for _, command := range []string{"list --all --jobs-only --sort id", "history --last 0", "gpus", "reserve list"} {
		var answer any
		if err := json.Unmarshal([]byte(l.sh("gpusched "+command+" --json")), &answer); err != nil {
			l.t.Fatal(err)
		}
		text, err := json.MarshalIndent(only(answer), "", " ")
		if err != nil {
			l.t.Fatal(err)
		}
		fmt.Fprintf(&facts, "%s: %s\n", command, text)
	}
	facts.WriteString(l.sh(`for unit in $(systemctl list-units --plain --no-legend 'gpujob-*.service' | cut -d ' ' -f 1); do
systemctl show -p Id -p MainPID -p InvocationID $unit; done`))
	return strings.Split(facts.String(), "\n")
}

// lasting are the fields that an upgrade must not change; others depend on the time, or may be new.
var lasting = strings.Fields(`jobs gpus reservations id name user uid state attempt priority comment tags gpu_milli gpu_mem_bytes mem_bytes
	cpus time_limit_seconds held_by after array size spec begin lane preemptible notify submitted_at ended_at result outcome
	exit_code signal index uuid by from to users job kind`)

// only returns an answer without fields that may change.
func only(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = only(v[i])
		}
	case map[string]any:
		for key := range v {
			if v[key] = only(v[key]); !slices.Contains(lasting, key) {
				delete(v, key)
			}
		}
	}
	return v
}

// simulateGPUs gives the machine four GPUs and CUDA, and installs a package.
func (l *machineWithJob) simulateGPUs(deb string) {
	l.t.Helper()
	dir := l.t.TempDir()
	lib, err := fakenvml.Build(dir)
	sim, err2 := fakenvml.BuildSimCUDA(dir)
	cuda, err3 := fakenvml.BuildCUDA(dir)
	if err := errors.Join(err, err2, err3); err != nil {
		l.t.Fatal(err)
	}
	if err := vm.Provision(l.ctx, l.m, vm.ProvisionOptions{Deb: deb, FakeLib: lib, SimCUDA: sim, FakeCUDA: cuda}); err != nil {
		l.t.Fatal(err)
	}
}

// keepState copies the state file to a path on the host.
func (l *machineWithJob) keepState(path string) {
	l.t.Helper()
	text := l.sh(`systemctl stop gpusched.service; base64 /var/lib/gpusched/state.db; systemctl start gpusched.service`)
	data, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// releasedPackage builds the deb of the release from its tag, or without the tag from the newest
// commit whose changelog has no later release. A checkout without that history upgrades the tree's
// package over itself. The log says which.
func releasedPackage(t *testing.T) string {
	t.Helper()
	git := func(args ...string) string {
		out, _ := exec.CommandContext(t.Context(), "git", append([]string{"-C", root}, args...)...).Output()
		return strings.TrimSpace(string(out))
	}
	commit := git("rev-parse", "-q", "--verify", "v"+upgradesFrom+"^{commit}")
	if commit == "" {
		for c := range strings.FieldsSeq(git("rev-list", "HEAD", "--", "CHANGELOG.md")) {
			if m := newest.FindStringSubmatch(git("show", c+":CHANGELOG.md")); m != nil && m[1] == upgradesFrom {
				commit = c
				break
			}
		}
	}
	if commit == "" || commit == git("rev-parse", "HEAD") {
		t.Logf("this checkout has no earlier commit of %s: the tree's package is installed over itself", upgradesFrom)
		return built(t, "*.deb")
	}
	t.Logf("from %s", git("log", "-1", "--format=%h %cs %s", commit))
	dir := t.TempDir()
	output(t, "sh", "-ec", `git -C "$1" archive "$2" | tar -x -C "$3"`, "sh", root, commit, dir)
	cmd := exec.CommandContext(t.Context(), "make", "-C", dir, "deb", "VERSION="+upgradesFrom)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+git("log", "-1", "--format=%ct", commit), "COMMIT="+commit[:12])
	outputOf(t, cmd)
	found, err := filepath.Glob(filepath.Join(dir, "dist/*.deb"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: built %v, %v", commit, found, err)
	}
	return found[0]
}
