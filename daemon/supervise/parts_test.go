package supervise

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// healthNames are the names of the daemon's own lines in health.
// There is also one line for each GPU and each job in trouble.
var healthNames = []string{"state", "gpus", "queue", "starts", "alerts", "clock"}

// readRows reads a table of gpusched-admin(7). It has a row for each part that the scheduler
// depends on.
func readRows(t *testing.T) [][]string {
	t.Helper()
	data, err := os.ReadFile("../../packaging/man/gpusched-admin.7")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(data), "PART\tLIMIT; TRIED AGAIN\tIN HEALTH\tMEANWHILE\n")
	table, _, end := strings.Cut(table, ".TE")
	if !ok || !end {
		t.Fatal("gpusched-admin(7) has no table of the parts that the scheduler depends on")
	}
	var list [][]string
	for line := range strings.Lines(table) {
		list = append(list, strings.Split(strings.TrimRight(line, "\n"), "\t"))
	}
	return list
}

// Each part in the table has a line in health, and each line of health
// belongs to a part in the table.
func TestPartsHaveALineInHealth(t *testing.T) {
	names := slices.Clone(healthNames)
	for _, c := range (&instance{Supervisor: &Supervisor{}}).checks() {
		names = append(names, c.Name)
	}
	// These lines are about properties of the machine, not about parts that can fail.
	properties := []string{"state disk", "limits", "shared memory", "queue", "reboots"}
	told := map[string]bool{}
	for _, row := range readRows(t) {
		if len(row) != 4 || row[1] == "" || row[3] == "" {
			t.Errorf("row %q", row)
			continue
		}
		told[row[2]] = true
		if row[2] != `\-` && row[2] != "that part's" && !slices.Contains(names, row[2]) {
			t.Errorf("%s is to have a line %q in health", row[0], row[2])
		}
	}
	for _, name := range names {
		if !told[name] && !slices.Contains(properties, name) {
			t.Errorf("health has a line %q, and the table no part for it", name)
		}
	}
}

// limits has the program's values for each row of the table, in the order in which the row has
// them. A value is a time constant ("file name"), several constants joined by " + ", or the table's
// own text.
var limits = map[string][]string{
	`systemd, D\-Bus`: {"daemon/executor.go statusTime", "units/systemd/reconnect.go firstRetry", "units/systemd/reconnect.go lastRetry"},
	"starts of units": {"daemon/executor.go startTime", "daemon/loop.go retryEvery"},
	"starts put off":  {"at once", "daemon/core/starts/troubles.go StartAgain", "daemon/core/starts/troubles.go LastStartAgain"},
	"stops of units":  {"grace", "units/systemd/stop.go stopSlack + units/systemd/stop.go killPatience", "daemon/loop.go retryEvery"},
	"list of units":   {"daemon/reconcile.go listTime", "daemon/reconcile.go listAgain"},
	"notes to jobs":   {"daemon/supervise/notes.go noteTime", "never"},
	"alert_unit":      {"daemon/alert.go alertTime", "daemon/alert.go alertAgain"},
	"messages":        {"daemon/deliver.go deliverTime", "daemon/core/outbox/outbox.go deliveryAgain", "daemon/core/outbox/outbox.go lastDeliveryIn"},
	"state on disk":   {"daemon/commit.go commitTime", "daemon/commit.go firstCommitRetry", "daemon/commit.go lastCommitRetry"},
	"state file":      {"at start", "daemon/supervise/supervisor.go firstTry", "daemon/supervise/supervisor.go lastTry"},
	"long readings":   {"daemon/store/search.go maxTurnWait"},
	"GPU reader":      {"sample_timeout", "gpu/source/backoff.go lastDelay"},
	"kernel log":      {"waited for", "gpu/kernellog/reader.go retryDelay"},
	"journald":        {"4096 lines", "daemon/journal/queue.go patience"},
	"journal on disk": {"at each look"},
	"job specs":       {"per start", "daemon/core/starts/troubles.go StartAgain", "daemon/core/starts/troubles.go LastStartAgain"},
	"service manager": {"units/systemd/notify.go notifyTime"},
	"settings":        {"at start, reload"},
	"a Slurm's files": {"each look", "daemon/supervise/reload.go recountEvery"},
	"accounts":        {"daemon/directory/directory.go patience", "daemon/directory/directory.go answerTime", "daemon/directory/directory.go askAgain"},
	"clock":           {"each round"},
	"clients":         {"daemon/server/server.go headerTime", "daemon/server/server.go bodyTime", "daemon/server/server.go replyTime", "daemon/server/server.go idleTime"},
	"parts of health": {"daemon/probe.go CheckTime"},
	"daemon itself":   {"100ms", "daemon/supervise/supervisor.go firstTry", "daemon/supervise/supervisor.go lastTry"}, // RestartSec=
}

// The limits in the table are the same as the limits in the program.
func TestPartsLimits(t *testing.T) {
	text := map[string]string{}
	for _, row := range readRows(t) {
		text[row[0]] = row[1]
		if limits[row[0]] == nil {
			t.Errorf("nothing holds the limits of %s: %s", row[0], row[1])
		}
	}
	for part, want := range limits {
		rest := text[part]
		for _, l := range want {
			word := limit(t, l)
			_, after, ok := strings.Cut(rest, word)
			if !ok {
				t.Errorf("%s: %q does not say %s (%s) in its place", part, text[part], word, l)
			}
			rest = after
		}
	}
}

// limit returns a limit as the table writes it.
func limit(t *testing.T, l string) string {
	t.Helper()
	var sum time.Duration
	for name := range strings.SplitSeq(l, " + ") {
		file, constant, ok := strings.Cut(name, ".go ")
		if !ok {
			return l
		}
		sum += constantOf(t, "../../"+file+".go", constant)
	}
	return job.FormatDuration(sum)
}

// constantOf reads a time constant, such as "10 * time.Second", from a source file.
// So constants need not be exported for this test.
func constantOf(t *testing.T, file, name string) time.Duration {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^(?:const |\t)` + name + ` += (?:(\d+) \* )?time\.(Millisecond|Second|Minute|Hour)`).FindStringSubmatch(string(source))
	if m == nil {
		t.Fatalf("%s has no constant %s", file, name)
	}
	n, err := strconv.Atoi(cmp.Or(m[1], "1"))
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(n) * map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}[m[2]]
}
