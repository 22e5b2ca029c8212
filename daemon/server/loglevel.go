package server

import (
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/gpusched/gpusched/daemon/api"
)

// Verbosity is the daemon's log level: the configured level, or one that an administrator has
// chosen. A chosen level lasts until the daemon restarts or the configured level changes.
type Verbosity struct {
	inForce *slog.LevelVar

	mu       sync.Mutex // guards the fields below
	settings slog.Level
	chosen   bool
}

// NewVerbosity returns a Verbosity that sets the given variable.
func NewVerbosity(inForce *slog.LevelVar) *Verbosity { return &Verbosity{inForce: inForce} }

// Follow sets the configured level after a reload.
func (v *Verbosity) Follow(settings slog.Level) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.chosen && settings == v.settings {
		return
	}
	v.settings, v.chosen = settings, false
	v.inForce.Set(settings)
}

// Level returns the present level and the configured level.
func (v *Verbosity) Level() (now, settings slog.Level) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.inForce.Level(), v.settings
}

// Choose sets the level. A nil level restores the configured one.
func (v *Verbosity) Choose(l *slog.Level) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.chosen = l != nil
	if l == nil {
		l = &v.settings
	}
	v.inForce.Set(*l)
}

var levels = []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}

func levelName(l slog.Level) string { return strings.ToLower(l.String()) }

// handleLogLevel answers with the log level.
func (s *Server) handleLogLevel(*request) (any, error) {
	now, settings := s.opt.Verbosity.Level()
	return api.LogLevelReply{Schema: api.Schema, Level: levelName(now), Settings: levelName(settings)}, nil
}

// handleSetLogLevel changes the log level at once.
func (s *Server) handleSetLogLevel(r *request) (any, error) {
	in := r.body.(*api.LogLevelRequest)
	var level *slog.Level
	if in.Level != "" {
		i := slices.IndexFunc(levels, func(l slog.Level) bool { return levelName(l) == in.Level })
		if i < 0 {
			return nil, usagef("%q is not a log level: use debug, info, warn or error, or leave it empty for the configured one", in.Level)
		}
		level = &levels[i]
	}
	s.opt.Verbosity.Choose(level)
	return s.handleLogLevel(r)
}
