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

// Children may log a burst of lines, then one per second. A longer line is cut at maxLogLine bytes.
const (
	logBurst   = 20
	maxLogLine = 512
)

// A childLog logs the stderr of children.
type childLog struct {
	log *slog.Logger
	now func() time.Time

	mu         sync.Mutex // guards the following fields
	tokens     float64
	at         time.Time // when the number of tokens was computed
	suppressed int
}

func newChildLog(log *slog.Logger) *childLog {
	return &childLog{log: log, now: time.Now, tokens: logBurst}
}

// logLines logs the lines of r until its end, and returns the last one that is not empty.
func (l *childLog) logLines(r io.Reader, pid int) (last string) {
	lines := bufio.NewReaderSize(r, maxLogLine)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			l.say(string(line), pid)
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

func (l *childLog) say(line string, pid int) {
	suppressed, ok := l.take()
	if !ok {
		return
	}
	args := []any{"pid", pid, "line", clean(line)}
	if suppressed > 0 {
		args = append(args, "suppressed", suppressed)
	}
	l.log.Warn("nvml child says", args...)
}

// take spends a token if there is one, and returns how many lines were dropped since a token was
// last spent.
func (l *childLog) take() (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if !l.at.IsZero() {
		l.tokens = min(logBurst, l.tokens+now.Sub(l.at).Seconds())
	}
	l.at = now
	if l.tokens < 1 {
		l.suppressed++
		return 0, false
	}
	l.tokens--
	suppressed, l.suppressed = l.suppressed, 0
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
