package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Invariant 4.
func TestAskedOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		w := newWatcher(func(context.Context) (answer, error) { asked++; return answer{}, nil }, 2*time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		go w.run(ctx)
		time.Sleep(time.Minute)
		if asked != 0 {
			t.Errorf("asked %d times while nobody looked", asked)
		}
		var leave []func()
		for range 50 {
			leave = append(leave, w.look())
		}
		if s, err := w.fresh(ctx); err != nil || s.number != 1 {
			t.Errorf("%+v %v", s, err)
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if asked != 5 { // at 0, 2, 4, 6, 8
			t.Errorf("asked %d times in nine seconds", asked)
		}
		for _, f := range leave {
			f()
			f() // leaving twice is leaving once
		}
		time.Sleep(time.Minute)
		if asked > 6 {
			t.Errorf("asked %d times though all have left", asked)
		}
		for range 30 { // who comes and goes is no reason to ask more often
			w.look()()
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		if asked > 8 {
			t.Errorf("asked %d times in three seconds", asked)
		}
		cancel()
	})
}

func TestOldStateIsNotFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := false
		w := newWatcher(func(context.Context) (answer, error) {
			if broken {
				return answer{}, errors.New("no")
			}
			return answer{}, nil
		}, 2*time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		go w.run(ctx)
		for want := range 2 {
			leave := w.look()
			s, err := w.fresh(ctx)
			if err != nil || s.number != want+1 || (s.err != nil) != broken || s.at.IsZero() {
				t.Errorf("%+v %v", s, err)
			}
			leave()
			broken = true
			time.Sleep(time.Hour)
		}
		cancel()
	})
}

func TestEndsWhenNobodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatcher(nil, time.Second)
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
