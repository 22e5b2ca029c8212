package journal

import (
	"context"
	"log/slog"
	"slices"
)

// Handler converts log records into entries, and puts them into a queue.
type Handler struct {
	queue *Queue
	level slog.Leveler
	attrs []field // attributes from WithAttrs
	group string  // prefix of attribute names, which ends with a point
}

// NewHandler returns a handler for records of this level and of higher levels.
func NewHandler(q *Queue, level slog.Leveler) *Handler { return &Handler{queue: q, level: level} }

// Enabled reports whether records of a level are logged.
func (h *Handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

// Handle logs a record. It never returns an error. It waits only if Queue.put waits.
func (h *Handler) Handle(_ context.Context, r slog.Record) error {
	e := entry{level: r.Level, text: shorten(r.Message)}
	if !isPrintable(e.text) {
		e.text = quoteValue(e.text)
	}
	for _, f := range h.attrs {
		e.add(f.name, f.value)
	}
	r.Attrs(func(a slog.Attr) bool {
		for _, f := range flat(nil, h.group, a) {
			e.add(f.name, f.value)
		}
		return true
	})
	h.queue.put(e)
	return nil
}

// WithAttrs returns a handler that adds these attributes to each record.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		with.attrs = flat(with.attrs, h.group, a)
	}
	return &with
}

// WithGroup returns a handler that adds a prefix to the names of attributes.
func (h *Handler) WithGroup(name string) slog.Handler {
	with := *h
	if name != "" {
		with.group += name + "."
	}
	return &with
}

// flat appends an attribute to list. If the attribute is a group,
// it appends the group's attributes.
func flat(list []field, group string, a slog.Attr) []field {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		if a.Key == "" {
			return list
		}
		return append(list, field{group + a.Key, v.String()})
	}
	if a.Key != "" {
		group += a.Key + "."
	}
	for _, member := range v.Group() {
		list = flat(list, group, member)
	}
	return list
}
