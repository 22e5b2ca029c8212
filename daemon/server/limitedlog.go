package server

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// leftOutAfter is the time after which omitted lines are reported.
const leftOutAfter = time.Minute

// noUID is the uid of peers without an identity. In a limitedLog it also means all users together.
const noUID = -1

// limitedLog writes lines that clients can cause as often as they like. It limits the rate of such
// lines, and reports how many lines it omitted.
type limitedLog struct {
	log            *slog.Logger
	perUser, total rateLimit // limits for one user, and for all users together
	byUser, inAll  buckets

	mu      sync.Mutex // guards leftOut and pending
	leftOut map[int]int
	pending *time.Timer // set while leftOut is not empty
}

func newLimitedLog(log *slog.Logger) *limitedLog {
	return &limitedLog{
		log: log, leftOut: map[int]int{},
		perUser: rateLimit{rate: 0.2, burst: 20}, total: rateLimit{rate: 5, burst: 500},
	}
}

// write writes a line that a user caused, or counts it as omitted.
func (l *limitedLog) write(uid int, level slog.Level, msg string, args ...any) {
	if l.allow(uid) {
		l.log.Log(context.Background(), level, msg, args...)
	}
}

// allow reports whether a line that a user caused may be written.
// If not, it counts the line as omitted.
func (l *limitedLog) allow(uid int) bool {
	if l.byUser.take(uid, l.perUser, 0) > 0 || l.inAll.take(noUID, l.total, 0) > 0 {
		l.skip(uid)
		return false
	}
	return true
}

func (l *limitedLog) skip(uid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, counted := l.leftOut[uid]; !counted && len(l.leftOut) >= manyBuckets {
		uid = noUID // after too many users, the lines of all others are counted together
	}
	l.leftOut[uid]++
	if l.pending == nil {
		l.pending = time.AfterFunc(leftOutAfter, l.flush)
	}
}

// flush reports the omitted lines.
func (l *limitedLog) flush() {
	l.mu.Lock()
	counts := l.leftOut
	l.leftOut = map[int]int{}
	if l.pending != nil {
		l.pending.Stop()
		l.pending = nil
	}
	l.mu.Unlock()
	for _, uid := range slices.Sorted(maps.Keys(counts)) {
		l.log.Warn("lines omitted: too many like those before", "uid", uid, "count", counts[uid])
	}
}

// Write writes a line of net/http. Clients can cause such lines, too.
func (l *limitedLog) Write(line []byte) (int, error) {
	l.write(noUID, slog.LevelWarn, "http: "+strings.TrimSpace(strings.TrimPrefix(string(line), "http: ")))
	return len(line), nil
}
