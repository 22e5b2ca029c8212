package predict

import (
	"container/list"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// maxUserKeys is the maximum number of keys that are remembered for one user, and maxKeys is the
// maximum for all users together. A new key evicts the user's least recently used key.
const (
	maxUserKeys = 1000
	maxKeys     = 100_000
)

// levels is the number of keys for run times that a kind has, from the widest to the narrowest.
const levels = 4

// The histories of a command for any number of GPUs are at these levels: see Memory and Most.
const (
	memoryLevel = levels + iota
	mostLevel
	hostLevel
)

var levelNames = [...]string{"", "size", "script", "shape", memoryLevel: "memory", mostLevel: "most", hostLevel: "host"}

// historyKey identifies the jobs of a user that count as similar at one of the levels.
type historyKey struct {
	level int
	milli int
	hash  string
}

// key returns the kind's key at a level. If the kind has no key at that level, it returns false.
func (k Kind) key(level int) (historyKey, bool) {
	switch level {
	case 0:
		return historyKey{}, true
	case 1:
		return historyKey{level, k.Milli, ""}, true
	case 2:
		return historyKey{level, k.Milli, k.Script}, k.Script != ""
	}
	return historyKey{level, k.Milli, k.Shape}, k.Shape != ""
}

// record returns a user's key as text, in the form that is used in records.
func (k historyKey) record(uid int) string {
	text := strconv.Itoa(uid)
	if k.level > 0 {
		text += " " + levelNames[k.level] + " " + strconv.Itoa(k.milli)
	}
	if k.level > 1 {
		text += " " + k.hash
	}
	return text
}

// parseKey is the inverse of record. If the text is not the text of a key, it returns false.
func parseKey(text string) (uid int, k historyKey, ok bool) {
	words := strings.Split(text, " ")
	uid, err := strconv.Atoi(words[0])
	if err != nil {
		return 0, k, false
	}
	if len(words) == 1 {
		return uid, k, true
	}
	for k.level = hostLevel; k.level > 0 && levelNames[k.level] != words[1]; k.level-- {
	}
	if k.level == 0 || len(words) != 3+min(k.level-1, 1) {
		return 0, k, false
	}
	if k.milli, err = strconv.Atoi(words[2]); err != nil {
		return 0, k, false
	}
	if k.level > 1 {
		k.hash = words[3]
	}
	return uid, k, true
}

// userHistory is what is known about one user's jobs, the most recently used key first.
type userHistory struct {
	seen  map[historyKey]*list.Element
	order *list.List // the elements are of type *history
}

// history is what is known about the runs of one key.
type history struct {
	key     historyKey
	typical time.Duration // the geometric mean of the run times
	spread  float64       // the standard deviation of their logarithms
	weight  float64       // number of runs as which the mean and the spread count
	runs    int           // number of runs that have ended
	forms   lengths
	peak    int64 // GPU memory in bytes, see Predictor.Memory
}

// userOf returns the history of a user. If the user has none, it creates one.
func (p *Predictor) userOf(uid int) *userHistory {
	u := p.users[uid]
	if u == nil {
		u = &userHistory{map[historyKey]*list.Element{}, list.New()}
		p.users[uid] = u
	}
	return u
}

// historyAt returns the kind's history at a level, or nil if there is none yet. If the kind has no
// key at that level, it returns false.
func (u *userHistory) historyAt(k Kind, level int) (*history, bool) {
	key, ok := k.key(level)
	if !ok {
		return nil, false
	}
	return u.get(key), true
}

// get returns the history of a key. If there is none, it returns nil.
func (u *userHistory) get(key historyKey) *history {
	if u == nil || u.seen[key] == nil {
		return nil
	}
	return u.seen[key].Value.(*history)
}

// touch returns the history of a key. If the key has none, it creates one.
func (u *userHistory) touch(p *Predictor, key historyKey) *history {
	if e := u.seen[key]; e != nil {
		u.order.MoveToFront(e)
		return e.Value.(*history)
	}
	for len(u.seen) > 0 && (len(u.seen) >= maxUserKeys || p.keys >= maxKeys) {
		last := u.order.Back()
		delete(u.seen, last.Value.(*history).key)
		u.order.Remove(last)
		p.keys--
	}
	h := &history{key: key}
	u.seen[key] = u.order.PushFront(h)
	p.keys++
	return h
}

func (h *history) moments() moments {
	return moments{math.Log(float64(h.typical)), h.spread, min(h.weight, 2*meanRuns-1)}
}

// maxRuns limits the number of runs that are counted: further runs would change nothing.
const maxRuns = 1000

func (h *history) learn(run time.Duration, ended bool) {
	weight := boundWeight
	if ended {
		weight = 1
		h.runs = min(h.runs+1, maxRuns)
		h.forms.learn(run, min(float64(h.runs), formRuns))
	}
	if h.weight = min(h.weight+weight, maxRuns); h.typical == 0 {
		h.typical = run
		return
	}
	part := weight / min(h.weight, meanRuns)
	off := math.Log(float64(run) / float64(h.typical))
	h.typical = max(time.Duration(float64(h.typical)*math.Exp(part*off)).Round(time.Millisecond), time.Second)
	h.spread = math.Sqrt((1 - part) * (h.spread*h.spread + part*off*off))
}

func (h *history) record(key string, now time.Time) job.Prediction {
	p := job.Prediction{Key: key, Typical: h.typical, Spread: h.spread, Weight: h.weight, Runs: h.runs, At: now}
	for i, part := range h.forms {
		if part > 0 {
			p.Lengths = append(p.Lengths, job.LengthShare{Bin: i, Part: part})
		}
	}
	return p
}

// restore sets the values that record returned. It corrects values that record never returns, such
// as those of a file that somebody changed: they would spoil everything that is computed from them.
func (h *history) restore(p *job.Prediction) {
	h.typical, h.runs = min(max(p.Typical, time.Second), longestRun), min(max(p.Runs, 0), maxRuns)
	h.spread, h.weight, h.forms = inRange(p.Spread, maxSpread), inRange(p.Weight, maxRuns), lengths{}
	h.peak = min(max(p.PeakBytes, 0), job.MaxSize)
	for _, l := range p.Lengths {
		if l.Bin >= 0 && l.Bin < len(h.forms) {
			h.forms[l.Bin] = inRange(l.Part, 1)
		}
	}
}

// inRange limits x to the range from 0 to upper. NaN becomes 0.
func inRange(x, upper float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, 0), upper)
}
