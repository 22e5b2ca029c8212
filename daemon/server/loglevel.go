package server

import (
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/gpusched/gpusched/daemon/api"
)

// Verbosity is how much the daemon logs: what the settings say, or what an administrator
// chose since. That holds until the daemon is restarted, or the settings say another level
// than they did then.
type Verbosity struct {
	inForce *slog.LevelVar

	mu       sync.Mutex // guards what follows
	settings slog.Level
	chosen   bool
}

// NewVerbosity makes one that says itself what is in force.
func NewVerbosity(inForce *slog.LevelVar) *Verbosity { return &Verbosity{inForce: inForce} }

// Follow takes on what settings say that were read anew.
func (v *Verbosity) Follow(settings slog.Level) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.chosen && settings == v.settings {
		return
	}
	v.settings, v.chosen = settings, false
	v.inForce.Set(settings)
}

// Level is the level in force, and that of the settings.
func (v *Verbosity) Level() (now, settings slog.Level) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.inForce.Level(), v.settings
}

// Choose chooses one; nil is that of the settings again.
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

// logLevel says how much is logged.
func (s *Server) logLevel(*request) (any, error) {
	now, settings := s.opt.Verbosity.Level()
	return api.LogLevelReply{Schema: api.Schema, Level: levelName(now), Settings: levelName(settings)}, nil
}

// setLogLevel changes it at once.
func (s *Server) setLogLevel(r *request) (any, error) {
	in := r.body.(*api.LogLevelRequest)
	var level *slog.Level
	if in.Level != "" {
		i := slices.IndexFunc(levels, func(l slog.Level) bool { return levelName(l) == in.Level })
		if i < 0 {
			return nil, usagef("%q is not a level of the log: use debug, info, warn or error, or leave it empty for that of the settings", in.Level)
		}
		level = &levels[i]
	}
	s.opt.Verbosity.Choose(level)
	return s.logLevel(r)
}
