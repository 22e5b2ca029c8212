package source

import (
	"testing"
	"time"
)

// A child does not notice new GPUs. Another child counts them from time to time, and a new child
// then reads them.
func TestNewGPUsAreFound(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := open(t, options(t, "good")) // which knows no GPU
	s.now = func() time.Time { return now }
	for _, c := range []struct {
		says  string
		fresh bool
	}{{"0", false}, {"2", true}, {"none", false}, {"1", true}} {
		s.spawn = func(o Options, log *childLog) (*child, error) {
			if len(o.Args) > 0 && o.Args[0] == "--count" {
				o.Path, o.Args = "/bin/echo", []string{c.says}
			}
			return start(o, log)
		}
		first := mustSample(t, s).Detail
		now = now.Add(countInterval)
		if last := mustSample(t, s).Detail; last != first {
			t.Errorf("%s: another child was asked at once", c.says)
		}
		for s.count.n != nil { // until the test times out
			mustSample(t, s)
		}
		if last := mustSample(t, s).Detail; (last != first) != c.fresh {
			t.Errorf("where %s GPUs are counted another child was asked: %t", c.says, last != first)
		}
	}
}
