package server

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Invariant 7: each refusal, and each use of an administrator's right, causes one line of the audit
// log. A request that everybody may make causes no line.
func TestAudit(t *testing.T) {
	soon := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for _, c := range []struct {
		who                peer
		method, path, body string
		want               string // "" means that no line is written
	}{
		{bob, "POST", "/v1/jobs/1/cancel", "", `level=WARN msg=audit uid=1002 user=bob action=cancel target="job 1" outcome=refused GPUSCHED_AUDIT=1 GPUSCHED_JOB=1`},
		{bob, "POST", "/v1/jobs/3_1/hold", "", `level=WARN msg=audit uid=1002 user=bob action=hold target="job 3_1" outcome=refused GPUSCHED_AUDIT=1`},
		{bob, "POST", "/v1/gpus/0/pause", "", `level=WARN msg=audit uid=1002 user=bob action=pause target="GPU 0" outcome=refused GPUSCHED_AUDIT=1 GPUSCHED_GPU=0`},
		{alice, "POST", "/v1/reservations", "", `level=WARN msg=audit uid=1001 user=alice action=reserve outcome=refused GPUSCHED_AUDIT=1`},
		{bob, "DELETE", "/v1/reservations/4", "", `level=WARN msg=audit uid=1002 user=bob action=unreserve target="reservation 4" outcome=refused GPUSCHED_AUDIT=1`},
		{bob, "POST", "/v1/gpus/0%0Amsg=audit%20uid=0%1b[2J" + strings.Repeat("x", 99) + "/drain", "",
			`level=WARN msg=audit uid=1002 user=bob action=drain target="GPU 0\nmsg=audit uid=0\x1b[2Jxxxxxxxxxxx…" outcome=refused GPUSCHED_AUDIT=1`},
		{operator, "POST", "/v1/gpus/0/pause", "", `level=INFO msg=audit uid=1003 user=operator action=pause target="GPU 0" outcome=done GPUSCHED_AUDIT=1 GPUSCHED_GPU=0`},
		{operator, "POST", "/v1/drain", `{"reason":"kernel","reboot":true,"by":"2035-01-02T03:04:05+01:00","force":true}`, `level=INFO msg=audit uid=1003 user=operator action=drain-all outcome=done reason=kernel then=reboot latest=2035-01-02T02:04:05Z force=yes GPUSCHED_AUDIT=1`},
		{operator, "POST", "/v1/gpus/0/drain", `{"reason":"fan\u0041","until":"2035-01-02T03:04:05+01:00"}`, `level=INFO msg=audit uid=1003 user=operator action=drain target="GPU 0" outcome=done reason=fanA until=2035-01-02T02:04:05Z GPUSCHED_AUDIT=1 GPUSCHED_GPU=0`},
		{root, "POST", "/v1/jobs/2/cancel", `{"signal":10}`, `level=INFO msg=audit uid=0 user=root action=cancel target="job 2" outcome=done signal=USR1 GPUSCHED_AUDIT=1 GPUSCHED_JOB=2`},
		{root, "POST", "/v1/jobs/1/update", `{"priority":"high:2","name":"x\nGPUSCHED_AUDIT=1","time_limit_seconds":0,"gpu_milli":0,"mem_bytes":1073741824,"after":[]}`,
			`level=INFO msg=audit uid=0 user=root action=update target="job 1" outcome=failed code=usage gpus=0 mem=1G time=none priority=high:2 name="x\nGPUSCHED_AUDIT=1" after=none GPUSCHED_AUDIT=1 GPUSCHED_JOB=1`},
		{operator, "POST", "/v1/gpus/9/pause", "", `level=INFO msg=audit uid=1003 user=operator action=pause target="GPU 9" outcome=failed code=not-found GPUSCHED_AUDIT=1 GPUSCHED_GPU=9`},
		{root, "POST", "/v1/jobs/1/cancel", "", `level=INFO msg=audit uid=0 user=root action=cancel target="job 1" outcome=done GPUSCHED_AUDIT=1 GPUSCHED_JOB=1`},
		{root, "POST", "/v1/jobs/2/requeue", "", `level=INFO msg=audit uid=0 user=root action=requeue target="job 2" outcome=failed code=conflict GPUSCHED_AUDIT=1 GPUSCHED_JOB=2`},
		{operator, "POST", "/v1/reservations", `{"gpus":[0]}`, `level=INFO msg=audit uid=1003 user=operator action=reserve outcome=failed code=usage gpus=0 GPUSCHED_AUDIT=1`},
		{operator, "POST", "/v1/reservations", `{"gpus":[0],"to":"` + soon + `","users":["bob"]}`,
			`level=INFO msg=audit uid=1003 user=operator action=reserve target="reservation 1" outcome=done gpus=0 to=` + soon + ` users=bob GPUSCHED_AUDIT=1`},
		{operator, "GET", "/v1/jobs/1", "", `level=INFO msg=audit uid=1003 user=operator action=show target="job 1" outcome=done GPUSCHED_AUDIT=1 GPUSCHED_JOB=1`},
		{alice, "GET", "/v1/jobs/1", "", ""},
		{bob, "GET", "/v1/jobs/1", "", ""},
		{alice, "POST", "/v1/jobs/1/cancel", "", ""},
		{bob, "POST", "/v1/jobs/99/cancel", "", ""},
		{operator, "GET", "/v1/jobs", "", ""},
	} {
		t.Run(fmt.Sprint(c.method, c.path, " by ", names[c.who.uid]), func(t *testing.T) {
			var log bytes.Buffer
			_, body := ask(testServer(queueWithArray(), &log), c.who, c.method, c.path, c.body)
			got := auditLines(log.String())
			if strings.Join(got, "\n") != c.want {
				t.Errorf("%s\nlogged:\n%s\nwant:\n%s", body, strings.Join(got, "\n"), c.want)
			}
			if strings.Contains(log.String(), "secret") {
				t.Errorf("a secret is in the log: %s", log.String())
			}
		})
	}
}

// auditLines returns the audit lines of a log, without their times.
func auditLines(log string) []string {
	var list []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, " msg=audit ") {
			_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			list = append(list, rest)
		}
	}
	return list
}

// The backend can refuse requests that the route table allows. These refusals are logged like all
// others.
func TestRefusalsOfTheBackendAreAudited(t *testing.T) {
	b := queue()
	b.Fail = job.Refuse("forbidden/priority")
	var log bytes.Buffer
	ask(testServer(b, &log), bob, "POST", "/v1/jobs", `{"argv":["eA=="],"dir":"Lw==","name":"n"}`)
	if got := auditLines(log.String()); len(got) != 1 || !strings.HasSuffix(got[0], "action=submit outcome=refused GPUSCHED_AUDIT=1") {
		t.Errorf("%q in %s", got, log.String())
	}
}

// safeBuffer is a buffer that many goroutines may write to.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Invariant 7, over a real socket: many refusals are all answered, but only a few are logged. At
// the end, the log says how many refusals were not logged.
func TestRefusalsCannotFillTheJournal(t *testing.T) {
	const asked = 2000
	log := &safeBuffer{}
	o := testServer(queue(), nil).opt
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	o.GroupID = nil
	s := New(o)
	socket, stop := listenAs(t, s, bob)
	client := overSocket(socket)
	for range asked {
		resp, err := client.Post("http://x/v1/gpus/0/pause", "", nil)
		if err != nil || resp.StatusCode != http.StatusForbidden {
			t.Fatalf("%v %v", resp, err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	written := len(auditLines(log.String()))
	m := regexp.MustCompile(`msg="lines omitted: too many like those before" uid=1002 count=(\d+)`).FindStringSubmatch(log.String())
	if written < 20 || written > 60 || m == nil || m[1] != fmt.Sprint(asked-written) {
		t.Errorf("%d lines of %d, and then %q", written, asked, m)
	}
}

// Omitted lines are reported after leftOutAfter, even if no more requests are refused. After one
// user's limit is reached, lines about other users are still written.
func TestOmittedLinesAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &safeBuffer{}
		l := newLimitedLog(slog.New(slog.NewTextHandler(log, nil)))
		for range 100 {
			l.write(7, slog.LevelWarn, "no")
		}
		l.write(8, slog.LevelWarn, "other")
		if n := strings.Count(log.String(), "msg=no"); n != 20 || !strings.Contains(log.String(), "msg=other") {
			t.Errorf("%d lines of the flood, and: %s", n, log.String())
		}
		synctest.Wait()
		sleep(leftOutAfter)
		synctest.Wait()
		if !strings.Contains(log.String(), "uid=7 count=80") {
			t.Errorf("not told: %s", log.String())
		}
		l.write(7, slog.LevelWarn, "later")
		if !strings.Contains(log.String(), "msg=later") {
			t.Error("the rate does not recover")
		}
	})
}

// Invariant 7: the log is also bounded if many users cause lines.
func TestManyUsersCannotFillTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &safeBuffer{}
		l := newLimitedLog(slog.New(slog.NewTextHandler(log, nil)))
		for uid := range 65536 {
			l.write(100000+uid, slog.LevelWarn, "no")
		}
		if n := strings.Count(log.String(), "\n"); n != 500 || len(l.leftOut) > manyBuckets+1 {
			t.Errorf("%d lines, %d counts", n, len(l.leftOut))
		}
		l.flush()
	})
}
