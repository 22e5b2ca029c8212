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

// stateName matches the part of a page that differs between runs.
var stateName = regexp.MustCompile(`have=[0-9a-f]+-[0-9]+`)

func TestPages(t *testing.T) {
	socket, _ := serveScheduler(t, lab())
	web := watchedPage(t, socket, time.Second)
	for name, path := range map[string]string{"front.html": "/", "waiting.html": "/job/4", "attack.html": "/job/5", "ended.html": "/job/6"} {
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

// Invariant 2: every element is closed, so no user's text closes an element.
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

// Invariant 2: the page hides private data even if the scheduler's answers contain it, as they do
// when CI runs the tests as root.
func TestPagesAreSelfContainedAndPrivate(t *testing.T) {
	socket, _ := serveScheduler(t, lab())
	web := watchedPage(t, socket, time.Second)
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
	socket, _ := serveScheduler(t, lab())
	web := watchedPage(t, socket, time.Second)
	if status, _, text := get(t, web.URL+"/job/99"); status != 404 || !strings.Contains(text, "no job 99") {
		t.Errorf("%d %s", status, text)
	}
}

// Invariants 1 and 3: other methods and other hosts are refused.
func TestOnlyReadsFromThisMachine(t *testing.T) {
	socket, _ := serveScheduler(t, lab())
	web := watchedPage(t, socket, time.Second)
	for host, want := range map[string]int{
		"localhost": 200, "localhost:9837": 200, "127.0.0.1:1": 200, "[::1]:9837": 200, "LOCALHOST": 200,
		"evil.example": 421, "evil.example:9837": 421, "127.0.0.1.evil.example": 421, "192.0.2.7": 421, "0.0.0.0": 421, "": 421,
	} {
		for _, path := range []string{"/", "/style.css", "/job/1"} {
			status, header, text := get(t, web.URL+path, func(r *http.Request) { r.Host = host })
			if host == "" {
				continue // Go's client sets this header itself
			}
			if status != want {
				t.Errorf("%s of %q: %d, want %d", path, host, status, want)
			}
			if strings.Contains(text, "alice") && want != 200 {
				t.Errorf("%q gets data", host)
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

// A section is one event of a stream.
type section struct{ ID, HTML string }

// follow opens the stream. It returns a function that waits for the next section that has an id.
func follow(t *testing.T, url string) (next func(id string) string) {
	t.Helper()
	return followAt(t, url+"/live", new([]string))
}

// followAt opens a stream, and records the ids of its sections.
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
	socket, _ := serveScheduler(t, b)
	web := watchedPage(t, socket, 10*time.Millisecond)
	next := follow(t, web.URL)
	if text := next("running"); !strings.Contains(text, "train-vit") {
		t.Errorf("got %s", text)
	}
	b.End(1, job.Result{Outcome: job.Completed})
	// Sections arrive in order. A section arrives again only if it has changed.
	if text := next("running"); strings.Contains(text, "train-vit") || !strings.Contains(text, "notebook") {
		t.Errorf("got %s", text)
	}
	if text := next("ended"); !strings.Contains(text, "train-vit") {
		t.Errorf("got %s", text)
	}
}

// A stream does not repeat the sections that the page already has.
func TestStreamSendsOnlyChanges(t *testing.T) {
	b := lab()
	socket, _ := serveScheduler(t, b)
	web := watchedPage(t, socket, time.Second)
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
func TestLastStateStays(t *testing.T) {
	socket, stop := serveScheduler(t, lab())
	web := watchedPage(t, socket, 10*time.Millisecond)
	next := follow(t, web.URL)
	if text := next("overview"); !strings.Contains(text, "DEGRADED") || strings.Contains(text, "alert") {
		t.Errorf("got %s", text)
	}
	stop()
	text := next("overview")
	for !strings.Contains(text, "cannot be reached") { // earlier states, or an interrupted request, may come first
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

// Invariant 6, before the first answer.
func TestNoScheduler(t *testing.T) {
	web := watchedPage(t, t.TempDir()+"/none", 10*time.Millisecond)
	status, _, text := get(t, web.URL+"/")
	if status != 200 || !strings.Contains(text, "there is no such socket") || strings.Contains(text, "Last updated") {
		t.Errorf("%d %s", status, text)
	}
}

// Invariant 5: when all places are taken, a new stream replaces the oldest.
func TestStreamsAreBounded(t *testing.T) {
	s := streams{most: 2}
	var ended [4]bool
	var leave []func()
	for i := range 3 {
		leave = append(leave, s.addStream(func() { ended[i] = true }))
	}
	if ended != [4]bool{true} {
		t.Errorf("ended: %v", ended)
	}
	leave[0]() // this stream has already ended, so no other stream ends
	leave[1]()
	if len(s.list) != 1 {
		t.Errorf("%d are left", len(s.list))
	}
	if s.addStream(func() { ended[3] = true }); ended != [4]bool{true} {
		t.Error("a free place was not taken")
	}
}
