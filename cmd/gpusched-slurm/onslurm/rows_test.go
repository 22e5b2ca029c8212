package onslurm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// answerOf returns squeue's output for n waiting jobs.
func answerOf(n int, columns []column, sep string) []byte {
	values := map[column]string{
		colArrayTaskID: "N/A", colName: "wrap", colUserName: "alice", colUserID: "1001", colState: "PENDING", colReason: "PartitionDown",
		colSubmitTime: "1795000000", colStartTime: "N/A", colEndTime: "N/A", colTimeLimit: "UNLIMITED", colTresAlloc: "cpu=1,mem=1M,node=1,billing=1",
		colTresPerNode: "N/A", colTresPerJob: "N/A", colTresPerTask: "N/A", colNumNodes: "1", colNumTasks: "1", colNumCPUs: "1",
		colDependency: "(null)", colComment: "(null)", colNice: "0", colExitCode: "0", colRestartCnt: "0",
	}
	var b strings.Builder
	for i := range n {
		for _, c := range columns {
			value := values[c]
			if c == colJobID || c == colArrayJobID {
				value = fmt.Sprint(i + 1)
			}
			b.WriteString(value + sep)
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}

// An answer has the same rows, however it is split into pieces. A truncated answer is an error.
func TestAnswerInPieces(t *testing.T) {
	sep := newSeparator()
	text := answerOf(3, jobColumns, sep)
	for size := 1; size <= len(text); size += 1 + size/7 {
		var got []row
		a := newAnswer(jobColumns, sep, func(r *row) { got = append(got, *r) })
		for from := 0; from < len(text); from += size {
			_, _ = a.Write(text[from:min(from+size, len(text))])
		}
		if err := a.finish(); err != nil || len(got) != 3 || got[2][colJobID] != "3" || got[0][colTresAlloc] != "cpu=1,mem=1M,node=1,billing=1" ||
			got[1][colUserName] != "alice" || got[1][colComment] != "" {
			t.Fatalf("in pieces of %d: %q, %v", size, got, err)
		}
	}
	for cut := 1; cut < len(text)-1; cut++ {
		if list, err := readRows(text[:cut], jobColumns, sep); err == nil && len(list)*(len(text)/3) > cut+len(sep) {
			t.Fatalf("cut at %d: %d rows", cut, len(list))
		}
	}
	if list, err := readRows(text[:len(text)-2-len(sep)], jobColumns, sep); err == nil {
		t.Errorf("without its end: %q", list)
	}
}

// A list of the first waiting jobs is in order. It counts all other waiting jobs as omitted.
func TestOmittedJobs(t *testing.T) {
	script := `for i in 1 2 3 4 5 6 7 8 9; do Fields JobID=$i UserID=1000 UserName=alice Name=x$((i % 2)) State=PENDING; done
		Fields JobID=10 UserID=1000 UserName=alice Name=x0 State=RUNNING`
	for _, c := range []struct {
		q       api.ListQuery
		ids     string
		omitted int
	}{
		{api.ListQuery{}, "10 1 2 3 4 5 6 7 8 9", 0},
		{api.ListQuery{Waiting: 3}, "10 1 2 3", 6},
		{api.ListQuery{Waiting: 3, Name: "x0"}, "10 2 4 6", 1},
		{api.ListQuery{Waiting: 3, States: []job.State{job.Queued}}, "1 2 3", 6},
		{api.ListQuery{Names: true}, "10 1 2 3 4 5 6 7 8 9", 0},
	} {
		e, _ := scripted(t, map[string]string{"squeue": script})
		reply, err := api.List(t.Context(), e, c.q)
		var ids []string
		for _, j := range reply.Jobs {
			ids = append(ids, j.ID.String())
		}
		if got := strings.Join(ids, " "); err != nil || got != c.ids || reply.Omitted != c.omitted {
			t.Errorf("%+v: %s and %d more, %v", c.q, got, reply.Omitted, err)
		}
	}
}

// BenchmarkRows reads 10 000 jobs as squeue prints them.
func BenchmarkRows(b *testing.B) {
	sep := newSeparator()
	text := answerOf(10_000, jobColumns, sep)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		a := newAnswer(jobColumns, sep, func(r *row) {
			j := r.job()
			n += int(min(1, j.ID))
		})
		for some := range strings.SplitSeq(string(text), "\n") {
			_, _ = a.Write([]byte(some + "\n"))
		}
		if err := a.finish(); err != nil || n != 10_000 {
			b.Fatal(n, err)
		}
	}
}

// An answer without jobs is an error only if a call failed.
func TestFailedCallWithoutRows(t *testing.T) {
	for talk, want := range map[string]bool{
		"": false, "squeue: error: Invalid user: 13346\n\n": false, "ERROR: ld.so: object 'x' cannot be preloaded: ignored.\n": false,
		"slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n": true, "x\nslurm_load_jobs error: y\n": true,
	} {
		if got := hasError(talk); got != want {
			t.Errorf("%q: %t", talk, got)
		}
	}
}

// readRows reads squeue's output with these columns.
func readRows(text []byte, columns []column, sep string) (list []row, err error) {
	a := newAnswer(columns, sep, func(r *row) { list = append(list, *r) })
	_, _ = a.Write(text) // never fails
	if err := a.finish(); err != nil {
		return nil, err
	}
	return list, nil
}
