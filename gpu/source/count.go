package source

import (
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/gpu"
)

// countInterval is the interval at which a second child counts the GPUs. The first child counts the
// GPUs only when it starts, and does not notice new ones. Restarting it for that would shut down
// GPUs that nobody else uses.
const countInterval = time.Minute

// lastCount holds the time of the last count, and the result channel of the running one, or nil.
type lastCount struct {
	last time.Time
	n    chan int
}

// recount starts a count from time to time, and ends the child if there are more GPUs than the
// child knows. It does not wait for counts. If the child found no GPUs, recount does nothing: that
// child restarts by itself, and a count would only repeat its error.
func (s *Source) recount(known *gpu.Snapshot) {
	select {
	case n := <-s.count.n:
		s.count.n = nil
		if min(n, gpu.MaxDevices) > known.Cards() && known.Problem == gpu.ProblemNone {
			s.opts.Log.Info("new GPUs found, starting another nvml child", "gpus", n, "known", known.Cards())
			s.killChild()
		}
	default:
	}
	now := s.now()
	if s.count.last.IsZero() {
		s.count.last = now
	}
	if known.Problem != gpu.ProblemNone || s.count.n != nil || now.Sub(s.count.last) < countInterval {
		return
	}
	n := make(chan int, 1)
	s.count.last, s.count.n = now, n
	go func() { n <- s.countGPUs() }()
}

// countGPUs counts the GPUs with a new child, and returns 0 if that fails. It waits for that child
// to end. So while the child hangs in the driver, no further count starts.
func (s *Source) countGPUs() (n int) {
	o := s.opts
	o.Args = append([]string{"--count"}, o.Args...)
	c, err := s.spawn(o, s.childLog)
	if err != nil {
		return 0
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() { // ends with this count or with the source
		select {
		case <-s.closing:
			c.kill()
		case <-stop:
		}
	}()
	_ = c.stdout.SetReadDeadline(time.Now().Add(s.opts.Timeout))
	line, _ := c.lines.ReadString('\n')
	c.end()
	<-c.ended
	n, _ = strconv.Atoi(strings.TrimSpace(line))
	return n
}
