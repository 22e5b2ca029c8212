package config

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// oneOf returns a setting that is one of a few words. The argument noun is the word for such a
// setting, such as "a mode".
func oneOf[T ~string](dst *T, noun string, words ...T) value {
	list := job.Each(words, func(w T) string { return string(w) })
	form := strings.Join(list, " or ")
	wrong := func(w T) error {
		if !slices.Contains(words, w) {
			return fmt.Errorf("%q is not %s: use %s", string(w), noun, form)
		}
		return nil
	}
	read := fromText(strconv.Quote(list[0]), asWritten[T])
	return setting[T]{dst, read, wrong, quotingWriter(plain[T]), shape{Type: "string", Form: form, Enum: list}}
}

// logLevel returns a setting that is a level of slog in lower case.
func logLevel(to *slog.Level) value {
	levels := []string{"debug", "info", "warn", "error"}
	read := func(s string) (level slog.Level, err error) {
		if !slices.Contains(levels, s) || level.UnmarshalText([]byte(s)) != nil {
			err = fmt.Errorf("%q is not a level: use debug, info, warn or error", s)
		}
		return level, err
	}
	write := func(l slog.Level) string { return strings.ToLower(l.String()) }
	form := shape{Type: "string", Form: "debug, info, warn or error", Enum: levels}
	return setting[slog.Level]{to, fromText(`"info"`, read), acceptAny[slog.Level], quotingWriter(write), form}
}

// word returns a setting that is a text. The function check checks the text.
func word(to *string, example string, check func(string) error, form, pattern string) value {
	spelled := shape{Type: "string", Form: form, Pattern: pattern}
	return setting[string]{to, fromText(example, asWritten[string]), check, strconv.Quote, spelled}
}

// groupOrNone returns a setting that is the name of a group, or empty.
func groupOrNone(to *string) value {
	return word(to, `"gpusched-admin"`, func(s string) error {
		if len(s) > 256 || !job.Printable(s) || strings.ContainsAny(s, ":,/") {
			return fmt.Errorf("%q is not the name of a group", s)
		}
		return nil
	}, "the name of a group, or empty", "")
}

// pathOrNone returns a setting that is an absolute path, or empty.
func pathOrNone(to *string) value {
	return word(to, `"/usr/lib/libnvidia-ml.so.1"`, func(s string) error {
		if s != "" && (!filepath.IsAbs(s) || filepath.Clean(s) != s || !shortPath(s)) {
			return fmt.Errorf("%q is not a plain absolute path", s)
		}
		return nil
	}, "an absolute path, or empty", "^(/.*)?$")
}

// scratchPath returns a setting that is the path of a directory that the daemon can see, or empty.
func scratchPath(to *string) value {
	return word(to, `"/nvme/gpusched"`, func(s string) error {
		hidden := func(dir string) bool { return strings.HasPrefix(s+"/", dir) }
		if s != "" && (!filepath.IsAbs(s) || filepath.Clean(s) != s || s == "/" || !shortPath(s)) {
			return fmt.Errorf("%q is not a plain absolute path", s)
		}
		if slices.ContainsFunc([]string{"/home/", "/root/", "/run/", "/tmp/", "/var/tmp/"}, hidden) {
			return fmt.Errorf("%q is in a directory that the scheduler does not see: name one elsewhere", s)
		}
		return nil
	}, "an absolute path, or empty", "^(/.*)?$")
}

// shortPath reports whether the kernel accepts the path's length and a terminal can show the path.
func shortPath(path string) bool { return len(path) < 4096 && job.Printable(path) }

// templateUnit is the pattern of a template unit's name. It is compiled only when it is needed,
// because that is costly and few sites set the key.
const templateUnit = `^([A-Za-z0-9:_.-]{1,200}@\.(service|target))?$`

// templateOrNone returns a setting that is a systemd template unit, or empty.
func templateOrNone(to *string) value {
	return word(to, `"gpusched-alert@.service"`, func(s string) error {
		if s != "" && !regexp.MustCompile(templateUnit).MatchString(s) {
			return fmt.Errorf("%q is not the name of a template unit, such as gpusched-alert@.service", s)
		}
		return nil
	}, "a template unit, or empty", templateUnit)
}

// logPath returns a setting that is the path of a file for each job, or empty.
func logPath(to *string) value {
	return word(to, `"%h/gpusched-logs/%j.log"`, func(s string) error {
		switch {
		case s == "":
			return nil
		case !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "%h/"):
			return fmt.Errorf("%q is neither an absolute path nor one that begins with %%h/", s)
		case !strings.Contains(strings.ReplaceAll(s, "%%", ""), "%j"):
			return fmt.Errorf("%q has no %%j in it, so all jobs would share one file", s)
		case job.CheckLogPath(s, false) != nil:
			return fmt.Errorf("%q is not a path of at most %d bytes with no sequences but %%j, %%A, %%n, %%u, %%%% and %%h/ at its beginning",
				s, job.MaxLogBytes)
		}
		return nil
	}, "the path of a file with %j in it, or empty", `^((/|%h/).*%j.*)?$`)
}
