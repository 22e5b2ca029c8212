package server

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/units/contract"
)

// directory plays a process: its status texts are used up one per question.
type directory struct {
	statuses []string
	limits   string
	stat     string
	links    map[string]string
}

func (d *directory) ReadFile(name string) ([]byte, error) {
	switch {
	case name == "limits" && d.limits != "":
		return []byte(d.limits), nil
	case name == "stat" && d.stat != "":
		return []byte(d.stat), nil
	case name == "status" && len(d.statuses) > 0:
		text := d.statuses[0]
		d.statuses = d.statuses[1:]
		return []byte(text), nil
	}
	return nil, os.ErrNotExist
}

func (d *directory) Readlink(name string) (string, error) {
	if to := d.links[name]; to != "" {
		return to, nil
	}
	return "", os.ErrNotExist
}

// statOf is /proc/PID/stat of a process with an ugly name that began a minute
// after the boot.
const statOf = "7 (x) y) S 1 7 7 0 -1 4194304 1 1 0 0 0 0 0 0 20 0 1 0 6000 0 0 18446744073709551615\n"

var ourNamespaces = map[string]string{"ns/user": "user:[1]", "ns/pid": "pid:[2]"}

// statusOf is /proc/PID/status with those uids and further lines.
func statusOf(uids string, more ...string) string {
	return "Name:\tx\nState:\tS (sleeping)\nUid:\t" + uids + "\nGid:\t5 5 5 5\n" + strings.Join(more, "\n")
}

// Invariant 2: limits are the submitter's, or nothing is taken.
func TestProcessIsTheSubmitters(t *testing.T) {
	mine := statusOf("1001\t1001\t1001\t1001")
	for name, c := range map[string]struct {
		change func(*directory)
		want   error
	}{
		"own process":                  {func(*directory) {}, nil},
		"already gone":                 {func(d *directory) { d.statuses = nil }, errGone},
		"gone while reading":           {func(d *directory) { d.statuses = d.statuses[:1] }, errGone},
		"gone before its limits":       {func(d *directory) { d.limits = "" }, errGone},
		"no stat":                      {func(d *directory) { d.stat = "" }, errGone},
		"a stat of something else":     {func(d *directory) { d.stat = "7 (x) S 1" }, errGone},
		"no stat at all":               {func(d *directory) { d.stat = "7" }, errGone},
		"only threads of it are left":  {func(d *directory) { d.statuses[1] = strings.Replace(mine, "S (sleeping)", "Z (zombie)", 1) }, errGone},
		"its number is another's":      {func(d *directory) { d.stat = strings.Replace(statOf, " 6000 ", " 6201 ", 1) }, errAnother},
		"began as it connected":        {func(d *directory) { d.stat = strings.Replace(statOf, " 6000 ", " 6200 ", 1) }, nil},
		"number passed to root before": {func(d *directory) { d.statuses[0] = statusOf("0\t0\t0\t0") }, errOthers},
		"became root meanwhile":        {func(d *directory) { d.statuses[1] = statusOf("0\t0\t0\t0") }, errOthers},
		"in the middle of su":          {func(d *directory) { d.statuses[0] = statusOf("1001\t0\t0\t0") }, errOthers},
		"saved uid of another":         {func(d *directory) { d.statuses[0] = statusOf("1001\t1001\t0\t1001") }, errOthers},
		"short line":                   {func(d *directory) { d.statuses[0] = statusOf("1001") }, errOthers},
		"no line":                      {func(d *directory) { d.statuses[0] = "Name:\tx\n" }, errOthers},
	} {
		d := &directory{[]string{mine, mine}, twoLimits, statOf, ourNamespaces}
		c.change(d)
		p, err := look(d, &directory{links: ourNamespaces}, status{}, peer{pid: 7, uid: 1001, seen: 62 * time.Second})
		if err != c.want || err == nil && (len(p.limits) != 2 || p.sandbox != "") {
			t.Errorf("%s: %+v, %v, want %v", name, p, err, c.want)
		}
	}
	for _, pid := range []int{0, -1} {
		if _, err := processOf(peer{pid: pid, uid: os.Getuid(), seen: sinceBoot()}); err == nil {
			t.Error("a process without a number has limits")
		}
	}
}

// What the process can't do that the first one could is noticed; what all
// processes of a container can't do is not.
func TestSandboxIsNoticed(t *testing.T) {
	inContainer := parseStatus("NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n")
	for name, c := range map[string]struct {
		lines string
		first status
		links map[string]string
		want  string
	}{
		"nothing":                      {"NoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0", status{}, ourNamespaces, ""},
		"no new privileges":            {"NoNewPrivs:\t1\nSeccomp:\t0\nSeccomp_filters:\t0", status{}, ourNamespaces, "no_new_privs"},
		"a filter":                     {"NoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1", status{}, ourNamespaces, "seccomp"},
		"an old kernel's filter":       {"NoNewPrivs:\t0\nSeccomp:\t2", status{}, ourNamespaces, "seccomp"},
		"strict":                       {"NoNewPrivs:\t0\nSeccomp:\t1", status{}, ourNamespaces, "seccomp"},
		"as all of a container":        {"NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1", inContainer, ourNamespaces, ""},
		"more than all of a container": {"NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t2", inContainer, ourNamespaces, "seccomp"},
		"users":                        {"", status{}, map[string]string{"ns/user": "user:[9]", "ns/pid": "pid:[2]"}, "another user namespace"},
		"pids":                         {"", status{}, map[string]string{"ns/user": "user:[1]", "ns/pid": "pid:[9]"}, "another pid namespace"},
		"nobody tells":                 {"", status{}, nil, "another user namespace"},
	} {
		mine := statusOf("1001\t1001\t1001\t1001", c.lines)
		d := &directory{[]string{mine, mine}, twoLimits, statOf, c.links}
		p, err := look(d, &directory{links: ourNamespaces}, c.first, peer{pid: 7, uid: 1001, seen: time.Hour})
		if err != nil || c.want == "" && p.sandbox != "" || !strings.Contains(p.sandbox, c.want) {
			t.Errorf("%s: %q, %v, want %q", name, p.sandbox, err, c.want)
		}
	}
}

func thisPeer() peer { return peer{pid: os.Getpid(), uid: os.Getuid(), seen: sinceBoot()} }

// A process that has ended has no limits to give, and one that began later is
// not the one that connected.
func TestProcessThatIsGone(t *testing.T) {
	before := sinceBoot() - 2*time.Second/ticks // a process's begin is told in ticks
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := peer{pid: cmd.Process.Pid, uid: os.Getuid(), seen: sinceBoot()}
	if got, err := processOf(p); err != nil || len(got.limits) == 0 {
		t.Errorf("a process that lives: %+v, %v", got, err)
	}
	p.seen = before
	if _, err := processOf(p); err != errAnother {
		t.Errorf("a process that began after the connection: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	p.seen = sinceBoot()
	if _, err := processOf(p); err != errGone {
		t.Errorf("a process that is gone: %v", err)
	}
}

// A submission without limits, and one out of a sandbox, is refused with what
// next, and noted; the site may allow the second.
func TestSubmitFromNowhere(t *testing.T) {
	var log bytes.Buffer
	s := testServer(queue(), &log)
	const body = `{"name":"x","argv":["aWQ="],"dir":"Lw=="}`
	s.processOf = func(peer) (process, error) { return process{}, errGone }
	code, text := ask(s, alice, http.MethodPost, "/v1/jobs", body)
	if e := refusal(t, text); code != http.StatusForbidden || e.Code != api.CodeForbidden || !strings.Contains(e.Message, "it has ended") || e.Hint == "" {
		t.Errorf("without limits: %d %s", code, text)
	}
	s.processOf = func(peer) (process, error) {
		return process{limits: []contract.Limit{{Name: "NOFILE", Soft: 1, Hard: 2}}, sandbox: "a filter"}, nil
	}
	code, text = ask(s, alice, http.MethodPost, "/v1/jobs", body)
	if e := refusal(t, text); code != http.StatusForbidden || !strings.Contains(e.Message, "a filter") || !strings.Contains(e.Hint, "jobs.allow_sandboxed") {
		t.Errorf("from a sandbox: %d %s", code, text)
	}
	if n := strings.Count(log.String(), "outcome=refused"); n != 2 {
		t.Errorf("%d lines of the audit log: %s", n, log.String())
	}
	cfg := *s.opt.Config()
	cfg.Jobs.AllowSandboxed = true
	s.opt.Config = func() *config.Config { return &cfg }
	if code, text = ask(s, alice, http.MethodPost, "/v1/jobs", body); code != http.StatusOK {
		t.Errorf("where the site allows it: %d %s", code, text)
	}
}
