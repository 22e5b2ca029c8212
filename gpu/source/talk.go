package source

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
)

// The rate of lines of talk: so many at once, then one a second; a line is cut
// at maxTalk bytes.
const (
	talkBurst = 20
	maxTalk   = 512
)

// talk logs what children say on stderr.
type talk struct {
	log *slog.Logger
	now func() time.Time

	mu         sync.Mutex // guards what follows
	tokens     float64
	at         time.Time // when tokens was right
	suppressed int
}

func newTalk(log *slog.Logger) *talk {
	return &talk{log: log, now: time.Now, tokens: talkBurst}
}

// copy logs the lines of r until it ends, or is closed, and returns the last that
// is not empty.
func (t *talk) copy(r io.Reader, pid int) (last string) {
	lines := bufio.NewReaderSize(r, maxTalk)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			t.say(string(line), pid)
			last = cmp.Or(clean(string(line)), last)
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
		}
		if err != nil {
			return last
		}
	}
}

func (t *talk) say(line string, pid int) {
	suppressed, ok := t.take()
	if !ok {
		return
	}
	args := []any{"pid", pid, "line", clean(line)}
	if suppressed > 0 {
		args = append(args, "suppressed", suppressed)
	}
	t.log.Warn("nvml child says", args...)
}

// take spends a token if there is one, and returns how many lines were dropped
// since the last that was not.
func (t *talk) take() (suppressed int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if !t.at.IsZero() {
		t.tokens = min(talkBurst, t.tokens+now.Sub(t.at).Seconds())
	}
	t.at = now
	if t.tokens < 1 {
		t.suppressed++
		return 0, false
	}
	t.tokens--
	suppressed, t.suppressed = t.suppressed, 0
	return suppressed, true
}

func clean(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, strings.TrimRight(line, "\r\n"))
}
