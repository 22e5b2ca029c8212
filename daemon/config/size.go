package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// size returns a setting that is a number of bytes, which may be 0.
func size(to *int64) value {
	return sizeValue(to, 0, job.MaxSize, "0", shape{Form: "a size, or 0", Pattern: `^(0|[0-9.]+ ?[A-Za-z]+)$`})
}

// sizeOrNone returns a setting that is a number of bytes. In a file, 0 is the word none.
func sizeOrNone(to *int64) value {
	return sizeValue(to, 0, job.MaxSize, "none", shape{Form: "a size, or none", Pattern: `^(none|[0-9.]+ ?[A-Za-z]+)$`})
}

// sizeBetween returns a setting that is a number of bytes between two limits.
func sizeBetween(to *int64, lo, hi int64) value {
	form := "a size from " + spellSize(lo) + " to " + spellSize(hi)
	return sizeValue(to, lo, hi, "0", shape{Form: form, Pattern: `^[0-9.]+ ?[A-Za-z]+$`})
}

func sizeValue(to *int64, lo, hi int64, zero string, form shape) value {
	read := func(s string) (int64, error) {
		if s == zero {
			return 0, nil
		}
		n, err := job.ParseSize(s)
		if err != nil && zero == "none" {
			err = fmt.Errorf("%w, or none", err)
		}
		return n, err
	}
	wrong := func(n int64) error {
		if n < lo || n > hi {
			return fmt.Errorf("%s is out of range: use %s to %s", spellSize(n), spellSize(lo), spellSize(hi))
		}
		return nil
	}
	write := func(n int64) string {
		if n == 0 {
			return zero
		}
		return spellSize(n)
	}
	form.Type = "string"
	return setting[int64]{to, fromText(`"512M"`, read), wrong, quotingWriter(write), form}
}

// defaultMem returns a setting that is auto, none or a size.
func defaultMem(to *DefaultMem) value {
	wrong := func(m DefaultMem) error {
		if m.Kind == MemFixed && (m.Bytes < 1<<20 || m.Bytes > job.MaxSize) {
			return fmt.Errorf("%s is out of range: use 1M to 1024T", spellSize(m.Bytes))
		}
		return nil
	}
	form := shape{Type: "string", Form: "auto, none or a size", Pattern: `^(auto|none|[0-9.]+ ?[A-Za-z]+)$`}
	return setting[DefaultMem]{to, fromText(`"16G"`, parseDefaultMem), wrong, quotingWriter(DefaultMem.String), form}
}

// memReturn returns a setting that is a margin and a time, such as 20%@10m. In a file, zero is the
// empty text.
func memReturn(to *MemReturn) value {
	wrong := func(m MemReturn) error {
		if m != (MemReturn{}) && (m.Percent < 5 || m.Percent > 100 || m.After < minute || m.After > longest) {
			return fmt.Errorf("%d%%@%s is out of range: use 5%% to 100%%, after %s to %s", m.Percent, spellDuration(m.After), spellDuration(minute), spellDuration(longest))
		}
		return nil
	}
	read := func(s string) (m MemReturn, err error) {
		if s == "" {
			return m, nil
		}
		margin, after, cut := strings.Cut(s, "@")
		p, err := parsePercent(margin)
		if err == nil && cut {
			m.After, err = job.ParseDuration(after)
		}
		if m.Percent = p.Percent; err != nil || !cut {
			err = fmt.Errorf("%q is not a margin and a time, such as 20%%@10m", s)
		}
		return m, err
	}
	write := func(m MemReturn) string {
		if m == (MemReturn{}) {
			return ""
		}
		return fmt.Sprintf("%d%%@%s", m.Percent, spellDuration(m.After))
	}
	form := shape{Type: "string", Form: "a margin and a time, or empty", Pattern: `^([0-9]+%@.+)?$`}
	return setting[MemReturn]{to, fromText(`"20%@10m"`, read), wrong, quotingWriter(write), form}
}

// share returns a setting that is a percentage or a size.
func share(to *Share) value {
	form := shape{Type: "string", Form: "a percentage or a size", Pattern: `^[0-9.]+ ?([A-Za-z]+|%)$`}
	return setting[Share]{to, fromText(`"5%"`, parseShare), acceptAny[Share], quotingWriter(Share.String), form}
}

// spellSize prints bytes exactly, in the largest unit that gives a whole number.
func spellSize(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}} {
		if n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}
