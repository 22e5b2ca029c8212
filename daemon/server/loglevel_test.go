package server

import (
	"log/slog"
	"testing"
)

// The last change of the level decides. A chosen level survives a reload with the same configured
// level. A new configured level replaces the chosen level.
func TestVerbosity(t *testing.T) {
	v := NewVerbosity(new(slog.LevelVar))
	is := func(now, settings slog.Level) {
		t.Helper()
		if gotNow, gotSettings := v.Level(); gotNow != now || gotSettings != settings || v.inForce.Level() != now {
			t.Errorf("%v and %v, want %v and %v", gotNow, gotSettings, now, settings)
		}
	}
	v.Follow(slog.LevelWarn)
	is(slog.LevelWarn, slog.LevelWarn)
	debug := slog.LevelDebug
	v.Choose(&debug)
	is(slog.LevelDebug, slog.LevelWarn)
	v.Follow(slog.LevelWarn)
	is(slog.LevelDebug, slog.LevelWarn)
	v.Choose(nil)
	is(slog.LevelWarn, slog.LevelWarn)
	v.Choose(&debug)
	v.Follow(slog.LevelError)
	is(slog.LevelError, slog.LevelError)
	v.Follow(slog.LevelInfo)
	is(slog.LevelInfo, slog.LevelInfo)
}
