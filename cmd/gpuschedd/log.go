package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
)

// journalHandler writes each record as one line with the priority prefix that
// journald reads ("<6>"), without a time, which journald has.
type journalHandler struct {
	text slog.Handler
	out  *prefixWriter
}

// prefixWriter puts the prefix of the record being written before the line.
type prefixWriter struct {
	mu     sync.Mutex // one record at a time
	w      io.Writer
	prefix string
}

// Write is called once per record, by the text handler, while mu is held.
func (p *prefixWriter) Write(line []byte) (int, error) {
	if _, err := p.w.Write(append([]byte(p.prefix), bytes.TrimPrefix(line, []byte(" "))...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

func newJournalHandler(w io.Writer, level slog.Leveler) slog.Handler {
	out := &prefixWriter{w: w}
	text := slog.NewTextHandler(out, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
				return slog.Attr{}
			}
			return a
		},
	})
	return &journalHandler{text: text, out: out}
}

func (h *journalHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.text.Enabled(ctx, l)
}

func (h *journalHandler) Handle(ctx context.Context, r slog.Record) error {
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	h.out.prefix = priority(r.Level)
	return h.text.Handle(ctx, r)
}

func (h *journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &journalHandler{text: h.text.WithAttrs(attrs), out: h.out}
}

func (h *journalHandler) WithGroup(name string) slog.Handler {
	return &journalHandler{text: h.text.WithGroup(name), out: h.out}
}

// priority is the syslog priority of a level, as in sd-daemon(3).
func priority(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "<3>"
	case l >= slog.LevelWarn:
		return "<4>"
	case l >= slog.LevelInfo:
		return "<6>"
	}
	return "<7>"
}
