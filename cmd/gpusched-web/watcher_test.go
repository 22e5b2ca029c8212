package main

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fake is a scheduler that counts what it is asked.
type fake struct {
	mu     sync.Mutex
	whole  int
	figure int
	err    error
	told   chan struct{} // tells a change; nil: it is too old for that
}

func (f *fake) everything(context.Context) (answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.whole++
	return answer{}, f.err
}

func (f *fake) figures(context.Context, *answer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.figure++
	return f.err
}

func (f *fake) hear(ctx context.Context, told func()) error {
	if f.told == nil {
		return errors.New("it does not know that")
	}
	for told(); ; told() {
		select {
		case _, ok := <-f.told:
			if !ok {
				return errors.New("it has gone")
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *fake) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// asked is what it was asked since the last time.
func (f *fake) asked() (whole, figure int) {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	whole, figure = f.whole, f.figure
	f.whole, f.figure = 0, 0
	return whole, figure
}

// watch runs a watcher of a scheduler in a bubble.
func watch(t *testing.T, f *fake, do func(*testing.T, *watcher)) {
	synctest.Test(t, func(t *testing.T) {
		if f.told != nil {
			f.told = make(chan struct{})
		}
		w := newWatcher(f, usual)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.run(ctx)
		do(t, w)
	})
}

// Invariant 4, where the scheduler tells no changes.
func TestAskedOnceForAll(t *testing.T) {
	f := &fake{}
	watch(t, f, func(t *testing.T, w *watcher) {
		time.Sleep(time.Minute)
		if n, _ := f.asked(); n != 0 {
			t.Errorf("asked %d times while nobody looked", n)
		}
		var leave []func()
		for range 50 {
			leave = append(leave, w.follow())
		}
		if s, err := w.fresh(t.Context()); err != nil || s.number != 1 {
			t.Errorf("%+v %v", s, err)
		}
		time.Sleep(9 * time.Second)
		if n, _ := f.asked(); n != 5 { // at 0, 2, 4, 6, 8
			t.Errorf("asked %d times in nine seconds", n)
		}
		for _, f := range leave {
			f()
			f() // leaving twice is leaving once
		}
		time.Sleep(time.Minute)
		if n, _ := f.asked(); n > 1 {
			t.Errorf("asked %d times though all have left", n)
		}
		for range 30 { // who comes and goes is no reason to ask more often
			leave := w.look()
			_, _ = w.fresh(t.Context())
			leave()
			time.Sleep(100 * time.Millisecond)
		}
		if n, _ := f.asked(); n != 2 {
			t.Errorf("asked %d times in three seconds", n)
		}
	})
}

// Invariant 4: what does not change is not asked again, but for the GPUs' figures.
func TestAskedWhenSomethingChanges(t *testing.T) {
	f := &fake{told: make(chan struct{})}
	watch(t, f, func(t *testing.T, w *watcher) {
		leave := w.follow()
		time.Sleep(3 * time.Second) // and again where it is told only then what changes
		if n, _ := f.asked(); n < 1 || n > 2 {
			t.Errorf("asked %d times at the beginning", n)
		}
		time.Sleep(5 * time.Minute)
		if whole, figures := f.asked(); whole > 10 || figures > 51 {
			t.Errorf("asked %d times for everything and %d for figures while nothing changed", whole, figures)
		}
		for range 20 {
			if _, err := w.fresh(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if whole, _ := f.asked(); whole > 0 {
			t.Errorf("asked %d times by those who came while nothing changed", whole)
		}
		before, next := w.latest()
		f.told <- struct{}{}
		begun := time.Now()
		<-next
		if now, _ := w.latest(); now.listed == before.listed || time.Since(begun) > time.Second {
			t.Errorf("a change was seen after %v", time.Since(begun))
		}
		f.asked()
		for range 100 { // a burst
			f.told <- struct{}{}
			time.Sleep(50 * time.Millisecond)
		}
		if n, _ := f.asked(); n < 2 || n > 3 {
			t.Errorf("asked %d times in five seconds with a hundred changes", n)
		}
		time.Sleep(3 * time.Second)
		if n, _ := f.asked(); n != 1 {
			t.Errorf("asked %d times after the last change", n)
		}
		leave()
		time.Sleep(time.Minute)
		select {
		case f.told <- struct{}{}:
			t.Error("it listens, and nobody looks")
		default:
		}
		if whole, figures := f.asked(); whole+figures > 0 {
			t.Errorf("asked %d and %d times though all have left", whole, figures)
		}
	})
}

// A scheduler that goes is asked by the clock until it is back, and what it tells then counts again.
func TestSchedulerComesBack(t *testing.T) {
	f := &fake{told: make(chan struct{})}
	watch(t, f, func(t *testing.T, w *watcher) {
		defer w.follow()()
		time.Sleep(10 * time.Second)
		f.fail(errors.New("it has gone"))
		close(f.told)
		time.Sleep(time.Minute)
		if s, _ := w.latest(); s.err == nil || s.at.IsZero() {
			t.Errorf("%+v", s)
		}
		if n, _ := f.asked(); n < 20 || n > 35 {
			t.Errorf("asked %d times in a minute", n)
		}
		f.told = make(chan struct{})
		f.fail(nil)
		time.Sleep(15 * time.Second)
		if s, _ := w.latest(); s.err != nil {
			t.Error(s.err)
		}
		f.asked()
		time.Sleep(29 * time.Second)
		if n, _ := f.asked(); n > 1 {
			t.Errorf("asked %d times though it announces changes", n)
		}
	})
}

func TestOldStateIsNotFresh(t *testing.T) {
	f := &fake{}
	watch(t, f, func(t *testing.T, w *watcher) {
		for want := range 2 {
			leave := w.look()
			s, err := w.fresh(t.Context())
			if err != nil || s.number != want+1 || (s.err != nil) != (want > 0) || s.at.IsZero() {
				t.Errorf("%+v %v", s, err)
			}
			leave()
			f.fail(errors.New("no"))
			time.Sleep(time.Hour)
		}
	})
}

func TestEndsWhenNobodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatcher(nil, usual)
		start := time.Now()
		leave := w.look()
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
