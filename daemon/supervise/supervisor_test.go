package supervise

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/journal"
	"github.com/gpusched/gpusched/daemon/store"
)

// desk is a supervisor with a server, but without systemd.
type desk struct {
	s      *Supervisor
	client *api.Client
	hup    chan os.Signal
	log    tape
}

// A tape keeps the text of the log.
type tape struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *tape) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *tape) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	dir := t.TempDir()
	d := &desk{hup: make(chan os.Signal), client: &api.Client{Socket: filepath.Join(dir, "sock")}}
	queue := journal.NewText(io.Discard)
	t.Cleanup(func() { queue.Close() })
	d.s = New(Options{
		State: dir, Config: filepath.Join(dir, "gpusched.toml"), DropIns: filepath.Join(dir, "conf.d"),
		Log: slog.New(slog.NewTextHandler(&d.log, nil)), Level: new(slog.LevelVar), Journal: queue,
	})
	return d
}

// open starts the server, which runs until the test ends.
func (d *desk) open(t *testing.T) {
	t.Helper()
	l, err := net.Listen("unix", d.client.Socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served, ended := make(chan error, 1), make(chan struct{})
	go func() { served <- d.s.server.Serve(ctx, l) }()
	go func() {
		defer close(ended)
		d.s.schedule(ctx, d.hup)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// check returns the first line of health.
func (d *desk) check(t *testing.T) job.Check {
	t.Helper()
	reply, err := api.Health(t.Context(), d.client)
	if err != nil || len(reply.Checks) == 0 {
		t.Fatalf("health: %+v, %v", reply, err)
	}
	return reply.Checks[0]
}

func (d *desk) write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// occupy opens the state file, as another daemon would.
func (d *desk) occupy(t *testing.T) {
	t.Helper()
	s, err := store.Open(t.Context(), d.s.state.path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
}

// While the scheduler can't start, the server answers. Health says why and what to do, and all
// other requests are refused with the reason.
func TestCannotStart(t *testing.T) {
	for name, c := range map[string]struct {
		spoil        func(*desk)
		detail, next string
	}{
		"settings":  {func(d *desk) { d.write(t, d.s.opt.Config, "[gpus]\nno_such_key = 1\n") }, "no_such_key", "gpusched config check"},
		"in use":    {func(d *desk) { d.occupy(t) }, "another gpuschedd", "end the other"},
		"no file":   {func(d *desk) { os.Mkdir(d.s.state.path, 0o700) }, "not a regular file", "can be written"},
		"no folder": {func(d *desk) { d.s.state.path = filepath.Join(d.s.opt.State, "missing", "state.db") }, "no such file", "can be written"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			c.spoil(d)
			d.open(t)
			if got := d.check(t); got.Health != job.Failing || !strings.Contains(got.Detail, c.detail) || !strings.Contains(got.Next, c.next) {
				t.Errorf("health: %+v", got)
			}
			_, err := api.List(t.Context(), d.client, api.ListQuery{})
			var refused *api.Error
			if !errors.As(err, &refused) || refused.Code != api.CodeUnavailable || !strings.Contains(refused.Message, c.detail) {
				t.Errorf("list: %v", err)
			}
			if _, err := api.Version(t.Context(), d.client); err != nil {
				t.Errorf("version: %v", err)
			}
		})
	}
}

// The supervisor tries again by itself to start the scheduler, and at once after a reload.
func TestStartsAgain(t *testing.T) {
	d := newDesk(t)
	d.write(t, d.s.opt.Config, "no settings")
	d.occupy(t)
	d.open(t)
	if got := d.check(t); !strings.Contains(got.Next, "config check") {
		t.Errorf("health: %+v", got)
	}
	d.write(t, d.s.opt.Config, "")
	d.hup <- os.Interrupt
	d.hup <- os.Interrupt // the supervisor reads this signal after the next try
	if got := d.check(t); !strings.Contains(got.Next, "end the other") {
		t.Errorf("health with the settings mended: %+v", got)
	}
	if text := d.log.String(); !strings.Contains(text, "action=reload") {
		t.Errorf("the audit log has no reload: %s", text)
	}
}

// Invariant 4: a reload is answered only after the settings were read.
func TestReloadIsAnsweredLate(t *testing.T) {
	d := newDesk(t)
	d.write(t, d.s.opt.Config, "no settings")
	d.occupy(t)
	d.open(t)
	d.check(t)
	d.write(t, d.s.opt.Config, "still_none = 1")
	d.hup <- os.Interrupt
	d.hup <- os.Interrupt // read when the next try is over
	d.hup <- os.Interrupt // read after the first reload
	if got := d.check(t); !strings.Contains(got.Detail, "still_none") {
		t.Errorf("health after the reload: %+v", got)
	}
	if text := d.log.String(); !strings.Contains(text, "outcome=failed") || strings.Contains(text, "outcome=done") {
		t.Errorf("the audit log: %s", text)
	}
	d.write(t, d.s.opt.Config, "")
	for range 3 {
		d.hup <- os.Interrupt
	}
	if text := d.log.String(); !strings.Contains(text, "outcome=done") {
		t.Errorf("the audit log: %s", text)
	}
}

// Invariant 3: the first process that systemd starts with wrong settings ends, and the second one
// stays. If an administrator starts a process later, that process ends too. A process that systemd
// did not start stays. So does a process that can't write the note.
func TestWrongSettingsFailTheStart(t *testing.T) {
	d, dir, now := newDesk(t), t.TempDir(), time.Now()
	d.write(t, d.s.opt.Config, "no_such_key = 1")
	if err := d.s.refuse(dir, now); err != nil {
		t.Errorf("without systemd: %v", err)
	}
	d.s.opt.Environ = []string{"NOTIFY_SOCKET=/run/systemd/notify"}
	if err := d.s.refuse(filepath.Join(dir, "none"), now); err != nil {
		t.Errorf("without a place for the note: %v", err)
	}
	for i, ends := range []bool{true, false, true, false} {
		err := d.s.refuse(dir, now)
		if (err != nil) != ends || err != nil && (!strings.Contains(err.Error(), "no_such_key") || !strings.Contains(err.Error(), "config check")) {
			t.Errorf("process %d: %v", i, err)
		}
	}
	if err := d.s.refuse(dir, now); err == nil || d.s.refuse(dir, now.Add(time.Hour)) == nil {
		t.Errorf("a note of an hour ago counts; %v", err)
	}
	d.write(t, d.s.opt.Config, "")
	if err := d.s.refuse(dir, now.Add(2*time.Hour)); err != nil {
		t.Errorf("with the settings mended: %v", err)
	}
}
