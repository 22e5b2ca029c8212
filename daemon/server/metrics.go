package server

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/metrics"
)

// measureTime limits the time in which the scheduler must give its metrics. If it takes longer, the
// page says that the scheduler does not answer.
const measureTime = 3 * time.Second

// handleMetrics answers with all metrics, for a monitoring system.
func (s *Server) handleMetrics(r *request) (any, error) {
	format := metrics.Format(cmp.Or(r.query.(*api.MetricsQuery).Format, string(metrics.OpenMetrics)))
	if !slices.Contains(metrics.Formats(), format) {
		return nil, usagef("there is no format %q of metrics: use one of %v", format, metrics.Formats())
	}
	if err := s.limits.takeListingSlot(r); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), measureTime)
	defer cancel()
	p, b := metrics.NewPage(), s.backend(ctx)
	err := b.Measure(ctx, p, s.opt.Config().Metrics.Users)
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	p.AddBool("gpusched_up", err == nil)
	p.AddHealth(b.Health(r.Context()))
	s.answers.addTo(p)
	p.Add("gpusched_build", 1, s.opt.Version, s.opt.Commit, runtime.Version())
	if s.opt.Process != nil {
		p.AddProcess(s.opt.Process())
	}
	return text{format.ContentType(), p.Text(format)}, nil
}

// text is a reply that is not JSON.
type text struct {
	kind string // media type
	body []byte
}

// send writes the reply and returns its size in bytes.
func (t text) send(w http.ResponseWriter) int {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(replyTime))
	w.Header().Set("Content-Type", t.kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(t.body)))
	w.Write(t.body)
	return len(t.body)
}

// A requestCounter counts requests by their action and result.
type requestCounter struct {
	mu     sync.Mutex // guards counts
	counts map[answer]uint64
}

type answer struct{ action, code string }

// count counts one request, unless the client left before the answer.
func (a *requestCounter) count(rt *route, r *http.Request, err error) {
	code := "ok"
	switch {
	case err != nil && r.Context().Err() != nil:
		code = "gone"
	case err != nil:
		code = string(asError(err).Code)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts == nil {
		a.counts = map[answer]uint64{}
	}
	a.counts[answer{rt.Name, code}]++
}

func (a *requestCounter) addTo(p *metrics.Page) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := slices.SortedFunc(maps.Keys(a.counts), func(x, y answer) int {
		return cmp.Or(cmp.Compare(x.action, y.action), cmp.Compare(x.code, y.code))
	})
	for _, k := range list {
		p.Add("gpusched_requests", float64(a.counts[k]), k.action, k.code)
	}
}
