//go:build machine

package check

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

const stateFile = "/var/lib/gpusched/state.db"

// TestUpgradeOfAnOldState installs an older version, has jobs run and wait, makes
// the state file one of the first schema, as the first release left it, and
// upgrades: the job that runs does not notice, the one that waits starts, the
// history can be read, and a copy of the old file lies beside the new one. The
// older schema's release is refused afterwards (TestNewerStateFile in the suite).
func TestUpgradeOfAnOldState(t *testing.T) {
	l := newLife(t, 3*time.Minute)

	history := filepath.Join(t.TempDir(), "history.db")
	execute(t, history, fixture(t))
	l.sh(`mkdir -m 700 -p /var/lib/gpusched`)
	l.putState(history)
	l.install(l.version("0.0.9"))
	l.sh(`printf '[jobs]\nmax_running = 1\n' >/etc/gpusched/gpusched.toml; systemctl reload gpusched.service`)
	l.submit() // after the jobs of the history, so that the numbers differ
	waits := l.sh(`setpriv --reuid bob --regid bob --clear-groups gpusched submit -q -g 0 -C / -- sh -c 'exit 5'`)

	l.sh(`systemctl stop gpusched.socket gpusched.service`)
	l.putState(l.asFirstSchema())
	l.sh(`! ls ` + stateFile + `.schema-*.bak 2>/dev/null`)
	l.install(built(t, "*.deb"))
	l.units("active", "enabled")
	l.jobGoesOn()
	l.sh(`test "$(stat -c '%a %U' ` + stateFile + `.schema-1.bak)" = '600 root'`)
	for id, want := range map[string]string{"2": "exit code 3", "4": "cancelled by bob", l.id: "running", waits: "queued"} {
		if got := l.sh(`gpusched show ` + id); !strings.Contains(strings.ToLower(got), want) {
			t.Errorf("job %s does not say %q after the upgrade:\n%s", id, want, got)
		}
	}
	l.sh(`printf '[jobs]\nmax_running = 9\n' >/etc/gpusched/gpusched.toml; systemctl reload gpusched.service`)
	l.sh(`gpusched wait --timeout 30s ` + waits + `; test $? = 5`)
	l.jobGoesOn()
	if told := l.sh(`gpusched health || true`); strings.Contains(told, "damaged was") || strings.Contains(told, "FAILING") {
		t.Errorf("health after the upgrade:\n%s", told)
	}
}

// fixture is a state file of the first schema with jobs of every kind, as SQL.
func fixture(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../daemon/store/testdata/schema-1.sql")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// execute runs SQL on a file.
func execute(t *testing.T, path, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(script); err != nil {
		t.Fatalf("%v\n%s", err, script)
	}
}

// putState makes a file of the host the machine's state. The daemon is not running.
func (l *life) putState(path string) {
	l.t.Helper()
	l.sh(`rm -f ` + stateFile + `*`)
	if err := l.m.CopyIn(l.ctx, path, stateFile, 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// asFirstSchema takes the machine's state file and returns one of the first
// schema with the same jobs: later schemas only added columns. The daemon is not
// running.
func (l *life) asFirstSchema() string {
	l.t.Helper()
	dir := l.t.TempDir()
	now, old := filepath.Join(dir, "now.db"), filepath.Join(dir, "old.db")
	if err := l.m.CopyOut(l.ctx, stateFile, now); err != nil {
		l.t.Fatal(err)
	}
	script := fixture(l.t) + "ATTACH '" + now + "' AS now;\n"
	columns := map[string]string{
		"jobs":     "id, key, uid, gid, user, name, state, submitted_at, changed_at, stop, stop_by, attempt, label, request, result",
		"payloads": "job_id, argv, env_mode, env, dir, umask, limits",
		"attempts": "job_id, number, gpus, boot_id, invocation_id, placed_at, started_at, ended_at, result, peak_mem_bytes, cpu_time_ns",
	}
	for _, table := range []string{"jobs", "payloads", "attempts"} {
		script += "INSERT OR IGNORE INTO " + table + " SELECT " + columns[table] + " FROM now." + table + ";\n"
	}
	execute(l.t, old, script+"UPDATE meta SET value = (SELECT value FROM now.meta WHERE name = 'next_id') WHERE name = 'next_id';")
	return old
}
