package sim

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// askAgain is how long a user waits before asking again for the expected start.
const askAgain = time.Hour

// soonLimit is the longest expected wait that counts as starting now.
const soonLimit = time.Minute

// A question asks, on behalf of a user, for the expected start of a waiting job.
type question struct {
	at    time.Duration
	job   int // index in the trace
	first bool
}

func (q question) before(o question) bool { return q.at < o.at || q.at == o.at && q.job < o.job }

// An answer is the expected start that the user was told.
type answer struct {
	question
	start time.Duration // expected start; 0: unknown
	span  job.ExpectedStart
	real  time.Duration // real start; 0: the job has not started
}

// startProbe asks the core for the expected start of every n-th job, and compares it with the real
// start.
type startProbe struct {
	every   int
	asked   int // number of jobs that were asked about
	atOnce  int // number of these jobs that started as soon as they were submitted
	later   queue[question]
	answers []answer
	open    map[int][]int // answers about each job that has not started
}

// askSubmitted asks about the job that the core has just received.
func (e *engine) askSubmitted(at int) {
	s := &e.starts
	if s.every == 0 || at%s.every != 0 {
		return
	}
	s.asked++
	if e.runs[at].running || e.runs[at].left == 0 {
		s.atOnce++
		return
	}
	e.ask(question{e.now, at, true})
	s.later.push(question{e.now + askAgain, at, false})
}

// askLater asks again about jobs that have waited for a long time.
func (e *engine) askLater() {
	s := &e.starts
	for len(s.later) > 0 && s.later[0].at <= e.now {
		q := s.later.pop()
		if _, waits := s.open[q.job]; waits {
			e.ask(question{e.now, q.job, false})
		}
	}
}

// ask simulates the command "gpusched why" of a user.
func (e *engine) ask(q question) {
	s := &e.starts
	a := answer{question: q}
	view := e.core.View(job.Query{IDs: []job.ID{job.ID(q.job + 1)}, Reasons: true}, e.date())
	if len(view.Jobs) == 1 && !view.Jobs[0].Start.At.IsZero() {
		a.span = view.Jobs[0].Start
		a.start = a.span.At.Sub(e.start)
	}
	s.open[q.job] = append(s.open[q.job], len(s.answers))
	s.answers = append(s.answers, a)
}

// recordStart records the first start of a job.
func (s *startProbe) recordStart(at int, now time.Duration) {
	for _, i := range s.open[at] {
		s.answers[i].real = now
	}
	delete(s.open, at)
}

// StartFigures report how accurate expected starts were. An error is |told - real| / told. Here
// told is the expected wait from the question on, and real is the real wait. Errors are computed
// only for jobs whose expected start was more than a minute away. The JSON names are stable within
// a schema.
type StartFigures struct {
	Asked    float64 `json:"asked"`     // number of jobs that were asked about
	AtOnce   float64 `json:"at_once"`   // share of the jobs that started as soon as they were submitted
	Nothing  float64 `json:"nothing"`   // share of the jobs without an expected start
	Now      float64 `json:"now"`       // share of the jobs that were expected to start within a minute
	Told     float64 `json:"told"`      // share of the jobs that were expected to start later
	ErrorP50 float64 `json:"error_p50"` // error of the answer at the submission
	ErrorP90 float64 `json:"error_p90"`
	RatioP50 float64 `json:"real_over_told_p50"`
	Held     float64 `json:"range_held"`      // share of the jobs that started within the predicted range
	LaterP50 float64 `json:"later_error_p50"` // error of the answer after a wait of an hour
	LaterP90 float64 `json:"later_error_p90"`
}

// answerErrors has the errors of answers, and the ratios of real to expected waits.
type answerErrors struct{ errors, ratios []float64 }

func (m *answerErrors) add(told, real float64) {
	m.errors, m.ratios = append(m.errors, max(told-real, real-told)/told), append(m.ratios, real/told)
}

// figures returns the figures, or nil if no starts were asked for.
func (s *startProbe) figures(begin time.Time) *StartFigures {
	if s.asked == 0 {
		return nil
	}
	n := float64(s.asked)
	f := StartFigures{Asked: n, AtOnce: float64(s.atOnce) / n}
	var first, later answerErrors
	held := 0.0
	for i := range s.answers {
		a := &s.answers[i]
		told, real := a.start-a.at, a.real-a.at
		far := a.start > 0 && told > soonLimit
		switch {
		case !a.first && far:
			later.add(told.Seconds(), real.Seconds())
		case !a.first:
		case a.start == 0:
			f.Nothing += 1 / n
		case !far:
			f.Now += 1 / n
		default:
			f.Told += 1 / n
			first.add(told.Seconds(), real.Seconds())
			if when := begin.Add(a.real); !when.Before(a.span.From) && (a.span.By.IsZero() || !when.After(a.span.By)) {
				held++
			}
		}
	}
	f.ErrorP50, f.ErrorP90 = middle(first.errors)
	f.RatioP50, _ = middle(first.ratios)
	f.Held = held / max(1, float64(len(first.ratios)))
	f.LaterP50, f.LaterP90 = middle(later.errors)
	return &f
}

// middle returns the median and the 90th percentile, or zeros for an empty list.
func middle(list []float64) (p50, p90 float64) {
	if len(list) == 0 {
		return 0, 0
	}
	slices.Sort(list)
	return nearestRank(list, 50), nearestRank(list, 90)
}

// MeanStarts returns the mean figures of several runs, or nil if no starts were asked for.
func MeanStarts(runs []*Outcome) *StartFigures {
	var mean StartFigures
	n := 0.0
	for _, run := range runs {
		if run.Starts == nil {
			continue
		}
		n++
		to := figures(&mean)
		for k, from := range figures(run.Starts) {
			*to[k] += (*from - *to[k]) / n
		}
	}
	if n == 0 {
		return nil
	}
	return &mean
}
