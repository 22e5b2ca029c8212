package main

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A fake is a scheduler that counts requests.
type fake struct {
	mu    sync.Mutex
	whole int
	err   error
}

func (f *fake) everything(context.Context) (answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.whole++
	return answer{}, f.err
}

func (f *fake) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// requests returns the number of requests since the last call.
func (f *fake) requests() int {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	whole := f.whole
	f.whole = 0
	return whole
}

// watch calls a function with a watcher of a fake scheduler, in a synctest bubble.
func watch(t *testing.T, f *fake, do func(*testing.T, *watcher)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatcher(f.everything, askInterval)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.run(ctx)
		do(t, w)
	})
}

// Invariant 4: all viewers together cause one request per interval.
func TestOneRequestForAllViewers(t *testing.T) {
	f := &fake{}
	watch(t, f, func(t *testing.T, w *watcher) {
		time.Sleep(time.Minute)
		if n := f.requests(); n != 0 {
			t.Errorf("asked %d times without viewers", n)
		}
		var leave []func()
		for range 50 {
			leave = append(leave, w.follow())
		}
		if s, err := w.freshState(t.Context()); err != nil || s.number != 1 {
			t.Errorf("%+v %v", s, err)
		}
		time.Sleep(9 * time.Second)
		if n := f.requests(); n != 5 { // at 0, 2, 4, 6 and 8 s
			t.Errorf("asked %d times in nine seconds", n)
		}
		for _, f := range leave {
			f()
			f() // a second call changes nothing
		}
		time.Sleep(time.Minute)
		if n := f.requests(); n > 1 {
			t.Errorf("asked %d times after all viewers left", n)
		}
		for range 30 { // viewers that come and go cause no more requests
			leave := w.addViewer()
			_, _ = w.freshState(t.Context())
			leave()
			time.Sleep(100 * time.Millisecond)
		}
		if n := f.requests(); n != 2 {
			t.Errorf("asked %d times in three seconds", n)
		}
	})
}

// While the scheduler does not answer, it is asked at the usual interval and its last state stays.
func TestSchedulerComesBack(t *testing.T) {
	f := &fake{}
	watch(t, f, func(t *testing.T, w *watcher) {
		defer w.follow()()
		time.Sleep(10 * time.Second)
		f.fail(errors.New("it has gone"))
		f.requests()
		time.Sleep(time.Minute)
		if s, _ := w.latest(); s.err == nil || s.at.IsZero() {
			t.Errorf("%+v", s)
		}
		if n := f.requests(); n < 20 || n > 35 {
			t.Errorf("asked %d times in a minute", n)
		}
		f.fail(nil)
		time.Sleep(15 * time.Second)
		if s, _ := w.latest(); s.err != nil {
			t.Error(s.err)
		}
	})
}

func TestOldStateIsNotFresh(t *testing.T) {
	f := &fake{}
	watch(t, f, func(t *testing.T, w *watcher) {
		for want := range 2 {
			leave := w.addViewer()
			s, err := w.freshState(t.Context())
			if err != nil || s.number != want+1 || (s.err != nil) != (want > 0) || s.at.IsZero() {
				t.Errorf("%+v %v", s, err)
			}
			leave()
			f.fail(errors.New("no"))
			time.Sleep(time.Hour)
		}
	})
}

func TestExitsWithoutViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatcher(nil, askInterval)
		start := time.Now()
		leave := w.addViewer()
		go func() {
			time.Sleep(20 * time.Minute)
			leave()
		}()
		w.untilIdle(t.Context(), 5*time.Minute)
		if took := time.Since(start); took != 25*time.Minute {
			t.Errorf("ended after %v", took)
		}
	})
}
