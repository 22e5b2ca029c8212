package bugreport

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Masker replaces private data.
type Masker struct {
	words  map[string]string // maps each name to its replacement
	users  int
	groups int
}

// New returns a Masker. The Masker replaces the name of the machine with "host", and the caller's
// account with "me".
func New(host, me string) *Masker {
	m := &Masker{words: map[string]string{}}
	m.set(host, "host")
	m.set(me, "me")
	return m
}

// These are words that are not masked: accounts and groups that every machine has, and words of the
// report itself.
var known = []string{
	"", "root", "nobody", "daemon", "gpusched", "gpusched-admin", "systemd-journal", "adm", "wheel", "users", "gpu", "gpus",
	"job", "jobs", "host", "localhost", "me",
}

func (m *Masker) set(name, word string) {
	if m.words[name] == "" && !slices.Contains(known, name) {
		m.words[name] = word
	}
}

// User replaces account names with user-1, user-2 and so on (invariant 1).
func (m *Masker) User(name string) {
	if m.words[name] == "" && !slices.Contains(known, name) {
		m.users++
		m.set(name, fmt.Sprintf("user-%d", m.users))
	}
}

// Group replaces names of groups, and other names that the site chose, with group-1 and so on.
func (m *Masker) Group(name string) {
	if m.words[name] == "" && !slices.Contains(known, name) {
		m.groups++
		m.set(name, fmt.Sprintf("group-%d", m.groups))
	}
}

// A rule replaces the text that matches its expression.
type rule struct {
	what func() *regexp.Regexp
	with string
}

// lazyRegexp compiles an expression on first use, since few runs of gpusched make a report.
func lazyRegexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// rules are applied in order, before names are replaced.
var rules = []rule{
	{lazyRegexp(`([A-Za-z][A-Za-z0-9+.-]*)://[^\s"'<>]+`), "$1://(masked)"},
	{lazyRegexp(`(?i)\b(bearer|basic)\s+\S+`), "$1 (masked)"},
	{lazyRegexp(`(?i)([\w.-]*(?:token|secret|passw|api_?key|auth|cookie|credential)[\w.-]*["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s,;]+)`), "$1(masked)"},
	{lazyRegexp(`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`), "(address)"},
	{lazyRegexp(`\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b`), "(address)"},
	{lazyRegexp(`(?i)\b(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}\b`), "(address)"},
	{lazyRegexp(`(process [0-9]+ )\([^)]*\)`), "$1(program)"},
	{lazyRegexp(`((?:paused|drained|drained for a reboot|held) by \S+ )\([^)]*\)`), "$1(reason)"},
	{lazyRegexp(`conf\.d/[^\s",:;]+`), "conf.d/(file)"},
}

// Text masks a text.
func (m *Masker) Text(s string) string {
	for _, r := range rules {
		s = r.what().ReplaceAllString(s, r.with)
	}
	s = paths().ReplaceAllStringFunc(s, maskPath)
	s = longWord().ReplaceAllStringFunc(s, maskLong)
	return m.maskNames(s)
}

// maskNames replaces known names where they are whole words.
func (m *Masker) maskNames(s string) string {
	return word().ReplaceAllStringFunc(s, func(found string) string {
		name := strings.TrimRight(found, ".-")
		if with := m.words[name]; with != "" {
			return with + found[len(name):]
		}
		return found
	})
}

var (
	word     = lazyRegexp(`[\p{L}\p{N}_][\p{L}\p{N}_.$-]*`)
	paths    = lazyRegexp(`(?:^|[\s"'=(:,\[])/[^/\s"':;,)\]][^\s"':;,)\]]*`)
	longWord = lazyRegexp(`[A-Za-z0-9+_-]{20,}`)
)

// systemDirs are the top-level directories for the machine's own files, not for people's files.
var systemDirs = strings.Fields("etc usr run dev proc sys boot lib lib64 bin sbin var")

// maskPath masks a path that may belong to a person. It keeps the text before the path.
func maskPath(found string) string {
	at := strings.IndexByte(found, '/')
	top, rest, _ := strings.Cut(found[at+1:], "/")
	spool := top == "var" && !strings.HasPrefix(rest, "lib/gpusched") && !strings.HasPrefix(rest, "log/journal")
	if slices.Contains(systemDirs, top) && !spool && !strings.HasPrefix(found[at:], "/run/user/") {
		return found
	}
	return found[:at] + "(path)"
}

// maskLong masks a long word that looks random, since tokens and keys look like that.
func maskLong(found string) string {
	digits, letters := 0, 0
	for _, c := range found {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c != '-' && c != '_' && c != '+':
			letters++
		}
	}
	if digits >= 3 && letters >= 3 {
		return "(masked)"
	}
	return found
}

// These are the log fields whose values come from the scheduler only (invariant 2).
var harmless = strings.Fields("version commit job jobs unit uid gpu gpus attempt n count line tries took since state " +
	"outcome signal xid code took seconds err event action method level reservation")

var field = lazyRegexp(`\b([A-Za-z_][A-Za-z0-9_]*)=("(?:[^"\\]|\\.)*"|\S+)`)

// Log masks a line of the scheduler's log.
func (m *Masker) Log(line string) string {
	line = field().ReplaceAllStringFunc(line, func(found string) string {
		key, _, _ := strings.Cut(found, "=")
		if slices.Contains(harmless, key) {
			return found
		}
		return key + "=(masked)"
	})
	return m.Text(line)
}

// Settings masks the output of 'config show --origin'. It drops the settings that have their
// default value, and counts them.
func (m *Masker) Settings(text string) (kept []string, defaults int) {
	section, said := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "["):
			section, said = m.section(line), false
		case strings.HasSuffix(line, "# default"):
			defaults++
		case line != "":
			if !said {
				kept, said = append(kept, section), true
			}
			kept = append(kept, m.maskSetting(line))
		}
	}
	return kept, defaults
}

var named = lazyRegexp(`^\[((?:quota\.(user|group))|notify\.webhook)\.(.+)\]$`)

// section masks the name in a section's heading.
func (m *Masker) section(line string) string {
	parts := named().FindStringSubmatch(line)
	if parts == nil {
		return line
	}
	name := strings.Trim(parts[3], `"`)
	if parts[2] == "user" {
		m.User(name)
	} else {
		m.Group(name)
	}
	if with := m.words[name]; with != "" {
		name = with
	}
	return "[" + parts[1] + "." + name + "]"
}

// This pattern matches values that can't be private: numbers, sizes, durations and the like.
var plain = lazyRegexp(`^(?:true|false|[0-9.]+|\[[0-9, ]*\]|"[0-9]*(?:[a-zA-Z%]{0,2}|[a-z]{1,8})"|"[0-9, -]*")$`)

// maskSetting masks the value of a line unless it is plain (invariant 3).
func (m *Masker) maskSetting(line string) string {
	key, rest, _ := strings.Cut(line, " = ")
	value, origin, _ := strings.Cut(rest, "  # ")
	switch {
	case strings.Contains(key, "url"), strings.Contains(key, "group"):
		value = `"(masked)"`
	case !plain().MatchString(value) && !strings.HasPrefix(value, `["/dev/`) && !strings.HasPrefix(value, `"/dev/`):
		value = `"(masked)"`
	}
	return key + " = " + value + "  # " + m.Text(origin)
}
