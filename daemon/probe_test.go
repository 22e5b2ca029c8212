package daemon

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A part that hangs delays a caller by CheckTime. Only one goroutine probes it, however often
// somebody asks for health. Once the part has answered, it is probed again.
func TestHangingProbeCostsOneGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, free := 0, make(chan struct{})
		p := &probes{host: machine{}}
		for _, c := range []Check{
			{"quick", func(context.Context) job.Check { return job.Check{Name: "quick", Health: job.Healthy} }},
			{"hangs", func(context.Context) job.Check {
				asked++
				<-free
				return job.Check{Name: "hangs", Health: job.Healthy, Detail: "again"}
			}},
			{"heeds its time", func(ctx context.Context) job.Check {
				<-ctx.Done()
				return job.Check{Name: "heeds its time", Health: job.Failing}
			}},
		} {
			p.list = append(p.list, &probe{Check: c})
		}
		for range 3 {
			begin := time.Now()
			got := p.run(t.Context())
			synctest.Wait()
			if took := time.Since(begin); took > CheckTime {
				t.Errorf("took %v", took)
			}
			if got[0].Health != job.Healthy || got[1].Health != job.Degraded || !strings.Contains(got[1].Detail, "has not answered since") || got[2].Name != "heeds its time" {
				t.Errorf("got %+v", got)
			}
		}
		if asked != 1 {
			t.Errorf("it was asked %d times at once", asked)
		}
		close(free)
		synctest.Wait()
		if got := p.run(t.Context()); got[1].Detail != "again" {
			t.Errorf("afterwards: %+v", got[1])
		}
		quick := asked
		for range 100 { // concurrent callers share one probe
			p.run(t.Context())
		}
		if asked != quick {
			t.Errorf("asked %d times in no time", asked-quick)
		}
		time.Sleep(probeFresh)
		p.run(t.Context())
		if asked != quick+1 {
			t.Errorf("asked %d times after a while", asked-quick)
		}
	})
}

// Callers that ask during a probe get its result,
// even if the caller that started the probe has left.
func TestConcurrentCallersShareAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		p := &probes{host: machine{}, list: []*probe{{Check: Check{"slow", func(ctx context.Context) job.Check {
			asked++
			select {
			case <-time.After(time.Second):
				return job.Check{Name: "slow", Health: job.Healthy}
			case <-ctx.Done():
				return job.Check{Name: "slow", Health: job.Failing, Detail: "given up"}
			}
		}}}}}
		gone, hangUp := context.WithCancel(t.Context())
		for i := range 10 {
			ctx := t.Context()
			if i == 0 {
				ctx = gone
			}
			go func() {
				if got := p.run(ctx); i > 0 && got[0].Health != job.Healthy {
					t.Errorf("caller %d: %+v", i, got)
				}
			}()
			synctest.Wait()
		}
		hangUp()
		time.Sleep(2 * time.Second)
		if asked != 1 {
			t.Errorf("looked %d times", asked)
		}
	})
}

// After a reload, nobody gets the result of a probe that began before the
// reload, even if it ends later.
func TestReloadForgetsProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings, free := "old", make(chan struct{})
		l := &probe{Check: Check{"settings", func(context.Context) job.Check {
			was := settings
			if was == "old" {
				<-free
			}
			return job.Check{Name: "settings", Detail: was}
		}}}
		p := &probes{host: machine{}, list: []*probe{l}}
		go p.run(t.Context())
		synctest.Wait()
		settings = "new"
		l.reset()
		close(free)
		synctest.Wait()
		if got := p.run(t.Context()); got[0].Detail != "new" {
			t.Errorf("looked at the %s settings", got[0].Detail)
		}
		settings = "newer"
		l.reset()
		if got := p.run(t.Context()); got[0].Detail != "newer" {
			t.Errorf("looked at the %s settings", got[0].Detail)
		}
	})
}
