package source

import (
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/gpu"
)

// countEvery is how often the GPUs are counted by another child: one counts them when it begins, and sees none that
// come. To end it for that would shut GPUs down that nobody else uses.
const countEvery = time.Minute

// count is when the GPUs were counted last, and the count under way; nil: none is.
type count struct {
	last time.Time
	n    chan int
}

// recount has the GPUs counted from time to time, and ends the child where there are more than it knows. It waits
// for no count. A child that reads no GPUs begins anew by itself, and a count would only repeat its complaint.
func (s *Source) recount(known *gpu.Snapshot) {
	select {
	case n := <-s.count.n:
		s.count.n = nil
		if min(n, gpu.MaxDevices) > len(known.Devices) && known.Problem == gpu.ProblemNone {
			s.opts.Log.Info("GPUs have come, starting another nvml child", "gpus", n, "known", len(known.Devices))
			s.killChild()
		}
	default:
	}
	now := s.now()
	if s.count.last.IsZero() {
		s.count.last = now
	}
	if known.Problem != gpu.ProblemNone || s.count.n != nil || now.Sub(s.count.last) < countEvery {
		return
	}
	n := make(chan int, 1)
	s.count.last, s.count.n = now, n
	go func() { n <- s.counted() }()
}

// counted counts the GPUs by a child of its own; 0 where it can't. One that hangs in the driver is the last.
func (s *Source) counted() (n int) {
	o := s.opts
	o.Args = append([]string{"--count"}, o.Args...)
	c, err := s.spawn(o, s.childLog)
	if err != nil {
		return 0
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() { // ends with this count, or the source
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
