package journal

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// Each record becomes one line, whatever it contains.
// The line has journald's priority, and no time.
func TestText(t *testing.T) {
	var out bytes.Buffer
	q := NewText(&out)
	log := slog.New(NewHandler(q, slog.LevelInfo)).With("unit", "u")
	log.Debug("not of interest")
	log.Info("job running", "job", 7, "name", "a b", "empty", "", "GPUSCHED_AUDIT", 1)
	log.Warn("two\nlines", "err", errors.New("x\x1b[2J=\"\n<3>forged"))
	log.WithGroup("g").With("a", 1).Error("e", slog.Group("h", "b", 2), slog.Group("", "c", 3), slog.Attr{})
	_ = q.Close()
	want := "<6>job running unit=u job=7 name=\"a b\" empty=\"\"\n" +
		"<4>\"two\\nlines\" unit=u err=\"x\\x1b[2J=\\\"\\n<3>forged\"\n" +
		"<3>e unit=u g.a=1 g.h.b=2 g.c=3\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// Invariant 3: a long value is shortened in its field and in the text, and marked as shortened.
func TestEntriesAreBounded(t *testing.T) {
	s := &slowSender{gate: make(chan struct{})}
	close(s.gate)
	q := newQueue(s, nil)
	long := strings.Repeat("\x00", 1<<20)
	args := []any{"last", "here"}
	for range 40 {
		args = append([]any{"long", long}, args...)
	}
	slog.New(NewHandler(q, slog.LevelInfo)).Info(long, args...)
	_ = q.Close()
	e := s.got[0]
	if len(e.text) > 5*maxValue || len(e.fields[0].value) > maxValue+3 || !strings.HasSuffix(e.fields[0].value, "…") {
		t.Errorf("a text of %d bytes, a value of %d", len(e.text), len(e.fields[0].value))
	}
	if d := datagram(e); len(d) > maxEntry+maxValue {
		t.Errorf("a datagram of %d bytes", len(d))
	}
}
