package main

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/packaging/test/golden"
)

// stateName is what differs from run to run.
var stateName = regexp.MustCompile(`have=[0-9a-f]+-[0-9]+`)

func TestPages(t *testing.T) {
	socket, _ := scheduler(t, lab())
	web := page(t, socket, time.Second)
	for name, path := range map[string]string{"front.html": "/", "waiting.html": "/job/4", "hostile.html": "/job/5", "ended.html": "/job/6"} {
		status, header, text := get(t, web.URL+path)
		if status != 200 || header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %d %v", path, status, header)
		}
		golden.Check(t, name, stateName.ReplaceAllString(text, "have=STATE"))
		if err := wellFormed(text); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Invariant 2: every element that is opened is closed, so nothing of a user's text ends one.
func wellFormed(page string) error {
	page = strings.ReplaceAll(strings.ReplaceAll(page, " defer>", ` defer="">`), " hidden>", ` hidden="">`)
	page = strings.TrimPrefix(page, "<!doctype html>\n")
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, []string{"meta", "link"}, xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Invariant 2, and what is private stays so, even where the answers have it (the tests of CI run as root).
func TestPagesHaveNothingOfOthers(t *testing.T) {
	socket, _ := scheduler(t, lab())
	web := page(t, socket, time.Second)
	for _, path := range []string{"/", "/job/1", "/job/4", "/job/5", "/job/6", "/job/99", "/job/%3Cscript%3E", "/job/..%2f..%2fetc"} {
		_, _, text := get(t, web.URL+path)
		for _, no := range []string{"secret", "<script>", `"'&`, "http:", "https:", "//"} {
			if strings.Contains(text, no) {
				t.Errorf("%s has %q:\n%s", path, no, text)
			}
		}
	}
}

func TestUnknownJob(t *testing.T) {
	socket, _ := scheduler(t, lab())
	web := page(t, socket, time.Second)
	if status, _, text := get(t, web.URL+"/job/99"); status != 404 || !strings.Contains(text, "no job 99") {
		t.Errorf("%d %s", status, text)
	}
}

// Invariants 1 and 3.
func TestOnlyLooksFromThisMachine(t *testing.T) {
	socket, _ := scheduler(t, lab())
	web := page(t, socket, time.Second)
	for host, want := range map[string]int{
		"localhost": 200, "localhost:9837": 200, "127.0.0.1:1": 200, "[::1]:9837": 200, "LOCALHOST": 200,
		"evil.example": 421, "evil.example:9837": 421, "127.0.0.1.evil.example": 421, "192.0.2.7": 421, "0.0.0.0": 421, "": 421,
	} {
		for _, path := range []string{"/", "/style.css", "/job/1"} {
			status, header, text := get(t, web.URL+path, func(r *http.Request) { r.Host = host })
			if host == "" {
				continue // the client puts the address there
			}
			if status != want {
				t.Errorf("%s of %q: %d, want %d", path, host, status, want)
			}
			if strings.Contains(text, "alice") && want != 200 {
				t.Errorf("%q learns who is here", host)
			}
			if csp := header.Get("Content-Security-Policy"); csp != policy {
				t.Errorf("policy is %q", csp)
			}
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		status, header, _ := get(t, web.URL+"/", func(r *http.Request) { r.Method = method })
		if status != 405 || header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d", method, status)
		}
	}
	for _, path := range []string{"/nothing", "/../page.html", "/static/page.html", "/page.html", "/job/", "/job/1/cancel"} {
		if status, _, _ := get(t, web.URL+path); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// section is one piece of news of a stream.
type section struct{ ID, HTML string }

// follow opens the stream, and returns a function that waits for the next section of a name.
func follow(t *testing.T, url string) (next func(id string) string) {
	t.Helper()
	return followAt(t, url+"/live", new([]string))
}

// followAt opens a stream, and notes the names of what it sends.
func followAt(t *testing.T, url string, names *[]string) (next func(id string) string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return func(id string) string {
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var s section
			if err := json.Unmarshal([]byte(data), &s); err != nil {
				t.Fatal(err)
			}
			if *names = append(*names, s.ID); s.ID == id {
				return s.HTML
			}
		}
		t.Fatalf("the stream ended before a section %q: %v", id, lines.Err())
		return ""
	}
}

func TestLive(t *testing.T) {
	b := lab()
	socket, _ := scheduler(t, b)
	web := page(t, socket, 10*time.Millisecond)
	next := follow(t, web.URL)
	if text := next("running"); !strings.Contains(text, "train-vit") {
		t.Errorf("got %s", text)
	}
	b.End(1, job.Result{Outcome: job.Completed})
	// Ended comes after running, and neither comes again without news.
	if text := next("running"); strings.Contains(text, "train-vit") || !strings.Contains(text, "notebook") {
		t.Errorf("got %s", text)
	}
	if text := next("ended"); !strings.Contains(text, "train-vit") {
		t.Errorf("got %s", text)
	}
}

// A page has the sections that it was made of: its stream does not send them again.
func TestStreamSendsWhatIsNew(t *testing.T) {
	b := lab()
	socket, _ := scheduler(t, b)
	web := page(t, socket, time.Second)
	_, _, text := get(t, web.URL+"/")
	live := regexp.MustCompile(`data-live="(/live[^"]*)"`).FindStringSubmatch(text)
	if live == nil {
		t.Fatal("the page names no stream")
	}
	var names []string
	next := followAt(t, web.URL+live[1], &names)
	b.End(1, job.Result{Outcome: job.Completed})
	next("ended")
	if slices.Contains(names, "gpus") {
		t.Errorf("it sends %v", names)
	}
}

// Invariant 6.
func TestSchedulerGoes(t *testing.T) {
	socket, stop := scheduler(t, lab())
	web := page(t, socket, 10*time.Millisecond)
	next := follow(t, web.URL)
	if text := next("overview"); !strings.Contains(text, "DEGRADED") || strings.Contains(text, "alert") {
		t.Errorf("got %s", text)
	}
	stop()
	text := next("overview")
	for !strings.Contains(text, "cannot be reached") { // a request may have been cut, or answered before
		text = next("overview")
	}
	if !strings.Contains(text, "Last updated at") || !strings.Contains(text, "DEGRADED") {
		t.Errorf("got %s", text)
	}
	status, _, text := get(t, web.URL+"/")
	if status != 200 || !strings.Contains(text, "train-vit") {
		t.Errorf("the last state is gone: %d %s", status, text)
	}
}

// Invariant 6, where there was no answer yet.
func TestNoScheduler(t *testing.T) {
	web := page(t, t.TempDir()+"/none", 10*time.Millisecond)
	status, _, text := get(t, web.URL+"/")
	if status != 200 || !strings.Contains(text, "there is no such socket") || strings.Contains(text, "Last updated") {
		t.Errorf("%d %s", status, text)
	}
}

// Invariant 5: one who comes when all places are taken has the place of the oldest.
func TestStreamsAreBounded(t *testing.T) {
	s := streams{most: 2}
	var ended [4]bool
	var leave []func()
	for i := range 3 {
		leave = append(leave, s.join(func() { ended[i] = true }))
	}
	if ended != [4]bool{true} {
		t.Errorf("ended: %v", ended)
	}
	leave[0]() // of one that was ended: nobody else goes
	leave[1]()
	if len(s.list) != 1 {
		t.Errorf("%d are left", len(s.list))
	}
	if s.join(func() { ended[3] = true }); ended != [4]bool{true} {
		t.Error("a free place was not taken")
	}
}
