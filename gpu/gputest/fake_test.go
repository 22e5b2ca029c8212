package gputest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/gpu"
)

func TestFakeConforms(t *testing.T) {
	RunScripted(t, func(t *testing.T) (Source, Machine) {
		f := NewFake(2)
		return f, f
	})
}

func TestFakeScripts(t *testing.T) {
	f := NewFake(2)
	f.Put(1, gpu.Process{PID: 9, Kind: "compute", UsedBytes: 1 << 30, UID: 1001, Comm: "python", Unit: "gpujob-7.service"})
	f.Put(1, gpu.Process{PID: 8, Kind: "mps", UsedBytes: -1, UID: -1, Dead: true})
	f.Change(0, func(d *gpu.Device) { d.MIG = true })
	s := sample(t, f, 2)
	if !s.Devices[0].MIG || s.Devices[1].MIG {
		t.Error("the change is not where it was made")
	}
	if p := s.Devices[1].Processes; len(p) != 2 || p[0].PID != 8 || p[1].Unit != "gpujob-7.service" || s.Devices[1].MemUsedBytes != 1<<30 {
		t.Errorf("processes %+v, used %d", p, s.Devices[1].MemUsedBytes)
	}
	f.SetProblem(gpu.ProblemDriverMissing, "gone")
	if s, err := f.Sample(t.Context()); err != nil || s.Problem != gpu.ProblemDriverMissing || s.Detail != "gone" || len(s.Devices) != 0 {
		t.Errorf("got %+v, %v", s, err)
	}
	why := errors.New("why")
	f.Fail(why)
	if s, err := f.Sample(t.Context()); !errors.Is(err, why) || s.Problem != gpu.ProblemStale {
		t.Errorf("got %+v, %v", s, err)
	}
	f.Fail(nil)
	f.SetProblem(gpu.ProblemNone, "")
	f.SetDevices(A100(5))
	if d := sample(t, f, -1).Devices; len(d) != 1 || d[0].Minor != 5 {
		t.Errorf("devices %+v", d)
	}
	f.SetDevices(A100(0), A100(2))
	f.SetLinks(gpu.Link{A: 0, B: 2, Kind: gpu.LinkBridge}, gpu.Link{A: 1, B: 2, Kind: gpu.LinkSwitch})
	if l := sample(t, f, 2).Links; len(l) != 1 || l[0].Kind != gpu.LinkBridge {
		t.Errorf("links %+v", l)
	}
	if n := f.Samples(); n != 5 {
		t.Errorf("%d samples, want 5", n)
	}
}

func TestFakeTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFake(1)
		f.Delay(time.Minute)
		began := time.Now()
		sample(t, f, 1)
		if took := time.Since(began); took != time.Minute {
			t.Errorf("took %s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.Sample(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestFakeHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFake(1)
		release := f.Hold()
		done := make(chan error, 2)
		go func() {
			_, err := f.Sample(t.Context())
			done <- err
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("not held")
		default:
		}
		release()
		if err := <-done; err != nil {
			t.Error(err)
		}
		f.Hold()
		go func() {
			_, err := f.Sample(t.Context())
			done <- err
		}()
		synctest.Wait()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Errorf("error %v", err)
		}
	})
}
