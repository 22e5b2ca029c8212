//go:build machine

package suite

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
)

// TestHistory: every user can read the history of ended jobs, but not the fields that are private
// to a job's owner. A report counts the jobs that ran, in each format and also after a restart.
func TestHistory(t *testing.T) {
	begin(t)
	const tag = "--tag suite=history"
	since := sh(t, "", "date -u +%Y-%m-%dT%H:%M:%SZ")
	two := submit(t, "alice", tag+" -g 2 -- sh -c 'sleep 1.5; : hush-argument'")
	failed := submit(t, "alice", tag+" --set-env KEY=hush-variable -g 1 -- sh -c 'exit 3'")
	half := submit(t, "bob", tag+" -g 0.5 -- sleep 1.5")
	never := submit(t, "bob", tag+" --hold -- true")
	sh(t, "bob", fmt.Sprintf("gpusched cancel %d", never))
	for id, state := range map[int64]string{two: "completed", failed: "failed", half: "completed", never: "cancelled"} {
		if j := wait(t, id); string(j.State) != state {
			t.Errorf("job %d is %s, want %s", id, j.State, state)
		}
	}
	past := thePast(t, "bob", "--tag suite=history --since "+since)
	seconds, ends := 0.0, map[int64]string{}
	for _, p := range past {
		seconds += p.GPUSeconds
		ends[int64(p.ID)] = p.User + " " + string(p.State)
	}
	want := map[int64]string{two: "alice completed", failed: "alice failed", half: "bob completed", never: "bob cancelled"}
	if fmt.Sprint(ends) != fmt.Sprint(want) || seconds < 2*1.5+0.5*1.5 || seconds > 60*float64(the.slow) {
		t.Errorf("bob sees %v of %g s, want %v", ends, seconds, want)
	}
	if mine := thePast(t, "bob", "--mine --tag suite=history --since "+since); len(mine) != 2 {
		t.Errorf("bob's own jobs are %+v", mine)
	}
	report := func(user, options string) string {
		return sh(t, user, "gpusched report --by tag=suite --since "+since+" --until now "+options)
	}
	row := theRow(t, report("bob", "--json"))
	ended := map[string]int{"completed": 2, "failed": 1, "cancelled": 1}
	if row.Jobs != 4 || fmt.Sprint(row.Ended) != fmt.Sprint(ended) || math.Abs(row.GPUHours*3600-seconds) > 0.01 || row.Run.Of != 3 {
		t.Errorf("%+v, want %v and %g GPU-seconds", row, ended, seconds)
	}
	if csv := report("bob", "-o csv"); !strings.Contains(csv, "\nhistory,4,1,0.00") {
		t.Errorf("csv says\n%s", csv)
	}
	page := report("bob", "--html -")
	for _, part := range []string{"<!DOCTYPE html>", `<td class="key">history</td><td>4</td><td>1</td>`, "<svg", "</html>"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %s", part)
		}
	}
	all := page + report("bob", "-o wide") + sh(t, "bob", "gpusched history --attempts -w; gpusched history --json --attempts; gpusched usage alice")
	if strings.Contains(all, "hush") || strings.Contains(page, "<script") {
		t.Error("bob reads alice's private values")
	}
	if told := sh(t, "", fmt.Sprintf("gpusched show %d", two)); !strings.Contains(told, "hush-argument") {
		t.Errorf("root does not see the command:\n%s", told)
	}
	sh(t, "", "systemctl restart gpusched.service")
	if again := theRow(t, report("", "--json")); again.Jobs != row.Jobs || again.GPUHours != row.GPUHours || again.MemGiBHours != row.MemGiBHours {
		t.Errorf("after a restart it is %+v, was %+v", again, row)
	}
}

// thePast returns the jobs that 'gpusched history' prints as JSON lines.
func thePast(t *testing.T, user, options string) (list []api.PastJob) {
	t.Helper()
	lines := json.NewDecoder(strings.NewReader(sh(t, user, "gpusched history -o jsonl "+options)))
	for lines.More() {
		var p api.PastJob
		if err := lines.Decode(&p); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// theRow returns the row suite=history of a report that groups by the tag suite.
func theRow(t *testing.T, text string) api.ReportRow {
	t.Helper()
	var r api.ReportReply
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if row.Keys[0] == "history" {
			return row
		}
	}
	t.Fatalf("no row has the tag: %s", text)
	return api.ReportRow{}
}
