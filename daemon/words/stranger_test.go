package words

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/gpusched/gpusched/daemon/job"
)

// The line names the GPUs and their jobs, the processes and their memory, and what to do. It is one
// line of bounded length, whatever the programs are called and however many there are.
func TestStrangersAreTold(t *testing.T) {
	at := func(clock string) time.Time {
		v, err := time.ParseInLocation("2006-01-02 15:04", clock, time.Local)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	now := at("2026-03-01 14:20")
	alices := job.StrangerGPU{Index: 0, Job: 12, Called: "12", User: "alice", Since: at("2026-03-01 14:10")}
	carols := job.StrangerGPU{Index: 1, Job: 13, Called: "7_3", User: "carol", Since: at("2026-02-28 23:59")}
	of := func(n int, comm string, bytes int64, on ...job.StrangerGPU) (s job.Strangers) {
		for i := range n {
			s.Add(4711+i, comm, bytes, on)
		}
		return s
	}
	ended := of(1, "python", 8<<30, alices)
	ended.Ends = at("2026-03-01 14:25")
	for _, c := range []struct {
		strangers job.Strangers
		want      string
	}{
		{of(1, "python", 8<<30, alices), "GPU 0 has belonged to job 12 of alice since 14:10. Your process 4711 (python) uses 8G of its memory. " +
			"Please end it, and queue the work: gpusched run -- COMMAND"},
		{of(1, "", 0, alices), "GPU 0 has belonged to job 12 of alice since 14:10. Your process 4711 uses it. " +
			"Please end it, and queue the work: gpusched run -- COMMAND"},
		{of(2, "python", 8<<30, alices, carols), "GPU 0 has belonged to job 12 of alice since 14:10 and GPU 1 to job 7_3 of carol since 2026-02-28 23:59. " +
			"Your processes 4711 (python) and 4712 (python) use 16G of their memory. Please end them, and queue the work: gpusched run -- COMMAND"},
		{of(1000, "a", 0, alices), "GPU 0 has belonged to job 12 of alice since 14:10. Your processes 4711 (a), 4712 (a), 4713 (a) and 997 more use it. " +
			"Please end them, and queue the work: gpusched run -- COMMAND"},
		{ended, "GPU 0 has belonged to job 12 of alice since 14:10. Your process 4711 (python) uses 8G of its memory. " +
			"gpusched ends it at 14:25. Please queue the work: gpusched run -- COMMAND"},
	} {
		if got := Strangers(&c.strangers, now); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
	evil := of(3, "\x1b[2J\r\n\u202egpj\u009b", 0, job.StrangerGPU{User: "al\x1b]0;x\aice", Called: "1"}, alices, carols, job.StrangerGPU{Index: 5})
	got := Strangers(&evil, now)
	if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) || len(got) > 600 {
		t.Errorf("%q", got)
	}
}
