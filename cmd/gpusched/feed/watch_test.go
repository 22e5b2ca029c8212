package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A keyedDaemon recognizes a repeated request by its key. It records the requests.
type keyedDaemon struct {
	sync.Mutex
	jobs    map[string]job.ID
	begun   time.Time // when the daemon's state was created
	forgets bool      // the daemon deletes its jobs
	names   []string  // names of the jobs, in order
	mute    func()    // called instead of an answer after a job is queued
	refuse  *api.Error
	changed chan struct{}
}

func (d *keyedDaemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		d.answer(w, r)
		return
	}
	var req api.SubmitRequest
	if json.NewDecoder(r.Body).Decode(&req) != nil {
		return
	}
	d.Lock()
	defer d.Unlock()
	if d.refuse != nil {
		w.WriteHeader(d.refuse.Code.HTTPStatus())
		json.NewEncoder(w).Encode(api.ErrorReply{Error: *d.refuse})
		return
	}
	id, known := d.jobs[req.Key]
	if !known {
		id = job.ID(len(d.jobs) + 1)
		d.jobs[req.Key] = id
		d.names = append(d.names, req.Name)
	}
	select {
	case d.changed <- struct{}{}:
	default:
	}
	if d.mute != nil {
		d.mute()
		panic(http.ErrAbortHandler)
	}
	json.NewEncoder(w).Encode(api.SubmitReply{Job: d.job(id, req.Label), Known: known})
}

func (d *keyedDaemon) job(id job.ID, label job.Label) api.Job {
	return api.Job{ID: id, State: job.Queued, Label: label, SubmittedAt: d.begun.Add(time.Duration(id) * time.Minute)}
}

// answer returns one job by its number, or the number of jobs.
func (d *keyedDaemon) answer(w http.ResponseWriter, r *http.Request) {
	d.Lock()
	defer d.Unlock()
	if strings.HasSuffix(r.URL.Path, "/status") {
		json.NewEncoder(w).Encode(api.StatusReply{Totals: &job.Totals{Submitted: len(d.jobs)}})
		return
	}
	var reply api.ListReply
	if id, err := job.ParseID(r.URL.Query().Get("ids")); err == nil && int(id) <= len(d.jobs) && !d.forgets {
		reply.Jobs = []api.Job{d.job(id, job.Label{})}
	}
	json.NewEncoder(w).Encode(reply)
}

func (d *keyedDaemon) queued() string {
	d.Lock()
	defer d.Unlock()
	return strings.Join(d.names, " ")
}

// A watchRig is a test's home directory with a file of jobs, and a daemon.
type watchRig struct {
	*keyedDaemon
	t    *testing.T
	dir  string
	path string
	told *os.File

	root, socket string // the machine's root directory and the scheduler's socket
}

func newWatching(t *testing.T) *watchRig {
	w := &watchRig{keyedDaemon: &keyedDaemon{jobs: map[string]job.ID{}, changed: make(chan struct{}, 1)}, t: t, dir: t.TempDir()}
	w.path = filepath.Join(w.dir, "jobs")
	l, err := net.Listen("unix", filepath.Join(w.dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: w}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	if w.told, err = os.Create(filepath.Join(w.dir, "told")); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watchRig) app() *cli.App {
	getenv := func(name string) string {
		return map[string]string{"XDG_STATE_HOME": filepath.Join(w.dir, "state")}[name]
	}
	return &cli.App{
		Env: cli.Env{
			UID: os.Getuid(), Root: w.root,
			Out: term.New(w.told, getenv, time.Now()), Err: term.New(w.told, getenv, time.Now()), Getenv: getenv, Environ: []string{"PATH=/usr/bin:/bin"},
			Getwd: func() (string, error) { return w.dir, nil }, RestoreLimits: func() {},
		},
		Session: cli.Session{Client: &api.Client{Socket: filepath.Join(w.dir, cmp.Or(w.socket, "s"))}},
		Noted:   map[string]bool{},
	}
}

// write replaces the file's content. It sets the modification time to the given number of hours
// ago.
func (w *watchRig) write(text string, hours int) {
	w.t.Helper()
	if err := os.WriteFile(w.path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	at := time.Now().Add(time.Duration(-hours) * time.Hour)
	if err := os.Chtimes(w.path, at, at); err != nil {
		w.t.Fatal(err)
	}
}

// newWatcher returns a watcher in the state that a new process would have.
func (w *watchRig) newWatcher() *watcher {
	w.t.Helper()
	a := w.app()
	r, err := newFileReader(a, "jobs", "auto", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := openLedger(a, w.path, false)
	if err != nil {
		w.t.Fatal(err)
	}
	return &watcher{fileReader: r, ledger: l, path: w.path, said: map[string]string{}}
}

// lookOnce calls the watcher's readFile once. It returns all jobs.
func (w *watchRig) lookOnce(x *watcher) string {
	w.t.Helper()
	if _, err := x.readFile(w.t.Context(), time.Now()); err != nil {
		w.t.Fatal(err)
	}
	x.a.Out.W.Flush()
	x.a.Err.W.Flush()
	return w.queued()
}

func (w *watchRig) said() string {
	text, err := os.ReadFile(w.told.Name())
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// A line becomes a job once, whatever happens to the file and to the watcher.
func TestALineBecomesAJobOnce(t *testing.T) {
	w := newWatching(t)
	x := w.newWatcher()
	if got := w.lookOnce(x); got != "" || !strings.Contains(w.said(), "jobs does not exist yet") {
		t.Fatalf("%q, %q", got, w.said())
	}
	do := func(what, text, want string) {
		t.Helper()
		if text != "" {
			w.write(text, len(w.names)+1)
		}
		w.lookOnce(x)
		if got := fmt.Sprint(len(w.names)); got != want {
			t.Errorf("%s: %s jobs, not %s: %s", what, got, want, w.said())
		}
	}
	do("two lines", "sh -c 1\nsh -c 2\n", "2")
	do("no change", "", "2")
	do("a line at the front, another at the end", "sh -c 0\nsh -c 1\nsh -c 2\nsh -c 3\n", "4")
	do("one twice", "sh -c 1\nsh -c 1\n", "5")
	os.Remove(w.path)
	do("gone", "", "5")
	do("there again", "sh -c 2\nsh -c 4\n", "6")
	x.ledger.close()
	x = w.newWatcher()
	do("another watcher", "", "6")
	do("a wrong line", "sh -c 2\nnosuchprogram\n'\nsh -c 5\n", "7")
	do("still", "", "7")
	if n := strings.Count(w.said(), "line 2: there is no program"); n != 1 {
		t.Errorf("said %d times: %s", n, w.said())
	}
	if !strings.Contains(w.said(), "jobs line 3: a quotation mark is not closed") {
		t.Errorf("%s", w.said())
	}
	if err := os.WriteFile(w.path+".new", []byte("sh -c 2\nsh -c 6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	os.Rename(w.path+".new", w.path)
	do("replaced by rename", "", "8")
	w.refuse = &api.Error{Code: api.CodePolicy, Message: "enough"}
	do("refused", "sh -c 7\n", "8")
	w.refuse = nil
	do("and taken later, without a change", "", "9")
}

// A watcher may be killed between queueing a job and recording it, and the record may be cut short.
// The next watcher then queues nothing twice and loses no job.
func TestAKilledWatcherLosesNothing(t *testing.T) {
	w := newWatching(t)
	w.write("sh -c 1\nsh -c 2\nsh -c 3\n", 1)
	x := w.newWatcher()
	ctx, die := context.WithCancel(t.Context())
	w.mute = die
	if _, err := x.readFile(ctx, time.Now()); err != context.Canceled || len(w.names) != 1 || len(x.ledger.jobs) != 0 {
		t.Fatalf("%v, %v: %s", err, w.names, w.said())
	}
	x.ledger.file.WriteString(`{"key":"cut sho`)
	x.ledger.close()
	w.mute = nil
	x = w.newWatcher()
	w.lookOnce(x)
	x.ledger.close()
	x = w.newWatcher()
	if w.lookOnce(x); len(w.names) != 3 || len(x.ledger.jobs) != 3 {
		t.Errorf("%v, %v", w.names, x.ledger.jobs)
	}
	if _, err := openLedger(w.app(), w.path, false); err == nil || !strings.Contains(err.Error(), "another gpusched is reading") {
		t.Errorf("two watchers of one file: %v", err)
	}
}

// A line that became a job of one scheduler is new to another scheduler. It is also new to a
// scheduler that has lost its state. It is not new if the scheduler has only deleted the job.
func TestALineIsNewToAnotherQueue(t *testing.T) {
	w := newWatching(t)
	w.write("sh -c 1\nsh -c 2\nsh -c 3\n", 1)
	x := w.newWatcher()
	w.lookOnce(x)
	again := func(what string, want int) {
		t.Helper()
		x.ledger.close()
		x = w.newWatcher()
		w.lookOnce(x)
		x.last = nil
		if w.lookOnce(x); len(w.names) != want {
			t.Errorf("%s: %d jobs, not %d: %s", what, len(w.names), want, w.said())
		}
	}
	again("the same", 3)
	w.forgets = true
	again("forgotten", 3)
	w.forgets, w.jobs, w.begun = false, map[string]job.ID{}, time.Unix(1e9, 0)
	again("anew", 6)
	if n := strings.Count(w.said(), "since these lines became jobs (up to job 3)"); n != 1 {
		t.Errorf("said %d times: %s", n, w.said())
	}
	w.begun = time.Unix(2e9, 0)
	for key := range w.jobs {
		delete(w.jobs, key)
	}
	for i := range 9 {
		w.jobs[fmt.Sprint(i)] = job.ID(i + 1)
	}
	again("anew, and as far", 9)
	w.root = t.TempDir()
	if err := os.MkdirAll(filepath.Join(w.root, "etc"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.root, "etc/machine-id"), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	again("another machine with the same home", 12)
	if err := os.Link(filepath.Join(w.dir, "s"), filepath.Join(w.dir, "own")); err != nil {
		t.Fatal(err)
	}
	w.socket = "own"
	again("another scheduler of this machine", 15)
}

// A line without a line end may be unfinished. It becomes a job when the file stays unchanged.
func TestAnUnfinishedLineIsAwaited(t *testing.T) {
	w := newWatching(t)
	w.write("sh -c 1\nsh -c 2", 0)
	x := w.newWatcher()
	now := time.Now()
	wait, err := x.readFile(t.Context(), now)
	if err != nil || wait != openTime || len(w.names) != 1 {
		t.Fatalf("%v, %v, %v", wait, err, w.names)
	}
	w.write("sh -c 1\nsh -c 20", -24) // as if the clock were wrong
	x.readFile(t.Context(), now.Add(openTime))
	if len(w.names) != 1 {
		t.Fatalf("%v", w.names)
	}
	x.readFile(t.Context(), now.Add(2*openTime))
	x.readFile(t.Context(), now.Add(2*openTime))
	if len(w.names) != 2 {
		t.Errorf("%v", w.names)
	}
}

// The watch continues, whatever replaces the file.
func TestTheWatchGoesOnWhateverTheFileIs(t *testing.T) {
	w := newWatching(t)
	x := w.newWatcher()
	for name, make := range map[string]func(){
		"is not a regular file":      func() { syscall.Mkfifo(w.path, 0o600) },
		"has more than 64 MiB":       func() { w.write("", 1); os.Truncate(w.path, 1<<30) },
		"there is a NUL byte":        func() { w.write("sh -c \x00\n", 1) },
		"a command may have at most": func() { w.write("sh -c "+strings.Repeat("x", 3<<20)+"\n", 1) },
		"/is not text":               func() { w.write("0,sh.py,\xff,x,\xff\n", 1) },
		"does not exist yet":         func() {},
		"jobs is not a regular file": func() { os.Mkdir(w.path, 0o700) },
	} {
		make()
		got := w.lookOnce(x)
		if said := w.said(); got != "" || name[0] != '/' && !strings.Contains(said, name) {
			t.Errorf("%s: %q, %.2000s", name, got, said)
		}
		os.Remove(w.path)
	}
	w.write("sh -c 1\nsh -c "+strings.Repeat("y", 1<<20-10)+"\n\xff\nsh -c \xff\n", 1)
	if w.lookOnce(x); len(w.names) != 3 || !strings.Contains(w.said(), `line 3: there is no program "\xff"`) {
		t.Errorf("%d jobs: %s", len(w.names), w.said())
	}
}

// Each kind of change is noticed without waiting for the interval.
func TestEveryChangeIsNoticed(t *testing.T) {
	w := newWatching(t)
	x := w.newWatcher()
	changes, err := fsnotify.NewBufferedWatcher(64)
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Close()
	if err := changes.Add(w.dir); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- x.loop(ctx, changes, time.Hour) }()
	until := func(n int) {
		t.Helper()
		for len(strings.Fields(w.queued())) < n {
			select {
			case <-w.changed:
			case <-t.Context().Done():
				t.Fatal("nothing heard")
			}
		}
	}
	appendTo := func(text string) {
		f, err := os.OpenFile(w.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		f.WriteString(text)
	}
	appendTo("sh -c 1\n")
	until(1)
	appendTo("sh -c 2\n")
	until(2)
	os.WriteFile(w.path+"~", []byte("sh -c 1\nsh -c 3\n"), 0o600)
	os.Rename(w.path+"~", w.path)
	until(3)
	os.Remove(w.path)
	appendTo("sh -c 4")
	until(4)
	stop()
	if err := <-ended; err != context.Canceled {
		t.Error(err)
	}
	if got := w.queued(); len(strings.Fields(got)) != 4 {
		t.Errorf("%s: %s", got, w.said())
	}
}

// Lines that are appended at the same time are all kept, and none is torn.
func TestConcurrentAppendsKeepAllLines(t *testing.T) {
	name := filepath.Join(t.TempDir(), "jobs")
	os.WriteFile(name, []byte("0,a.py"), 0o600)
	var all sync.WaitGroup
	numbers := make([]int, 50)
	for i := range numbers {
		all.Go(func() {
			n, err := appendLine(name, fmt.Sprintf("0,b%d.py,,%s,", i, strings.Repeat("x", 9000)))
			if err != nil {
				t.Error(err)
			}
			numbers[i] = n
		})
	}
	all.Wait()
	text, _ := os.ReadFile(name)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if slices.Sort(numbers); len(lines) != 51 || numbers[0] != 2 || numbers[49] != 51 {
		t.Errorf("%d lines, %v", len(lines), numbers)
	}
	syscall.Mkfifo(name+"fifo", 0o600)
	if _, err := appendLine(name+"fifo", "x"); err == nil {
		t.Error("a pipe is not a file of lines")
	}
}

// Lines that another user may have written do not become jobs. The user is told once. The lines are
// queued when nobody else can write to the file any more, or when the user accepts the risk.
func TestLinesOfOthersAreNotQueued(t *testing.T) {
	w := newWatching(t)
	x := w.newWatcher()
	w.write("sh -c 1\n", 1)
	if err := os.Chmod(w.path, 0o666); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := w.lookOnce(x); got != "" {
			t.Fatalf("queued: %s", got)
		}
	}
	if n := strings.Count(w.said(), "can be written by others"); n != 1 {
		t.Errorf("said %d times: %s", n, w.said())
	}
	w.write("sh -c 2\n", 1)
	if err := os.Chmod(w.path, 0o600); err != nil {
		t.Fatal(err)
	}
	if w.lookOnce(x); len(w.names) != 1 {
		t.Errorf("the user's own again: %q", w.names)
	}
	if err := os.Chmod(w.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	w.write("sh -c 3\n", 2)
	if w.lookOnce(x); len(w.names) != 1 {
		t.Errorf("in a directory of all: %q", w.names)
	}
	x.shared = true
	if w.lookOnce(x); len(w.names) != 2 {
		t.Errorf("where that is meant: %q", w.names)
	}
}
