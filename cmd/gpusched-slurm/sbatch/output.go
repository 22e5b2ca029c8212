package sbatch

import (
	"path/filepath"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// addOutput adds the file for the job's output, because Slurm has no journal. Without --log it is
// slurm-42.out in the job's directory.
func (m *mapping) addOutput() {
	path, refusal := m.logPath()
	if refusal != "" {
		m.refuse("%s", refusal)
	}
	mode := "append" // append keeps the output of earlier attempts
	if m.p.Log.Truncate && path != "" {
		mode = "truncate"
		if m.r.Retries > 0 || m.r.MayRequeue() {
			m.noteGap(otherTruncate)
		}
	}
	m.add("open-mode", mode)
	if path != "" {
		m.add("output", path)
	}
}

// logPath returns the absolute path of --log with Slurm's patterns. "" means Slurm's default.
func (m *mapping) logPath() (path, refusal string) {
	pattern := m.p.Log.Path
	if pattern == "" || pattern == job.NoLog {
		return "", ""
	}
	if strings.ContainsRune(pattern, '\\') {
		return "", "the path of a log can't have a backslash there (--log)"
	}
	id, array, task := "%j", "%j", ""
	if m.r.Array != nil {
		id, array, task = "%A_%a", "%A", "%a"
	}
	rest, inHome := job.InHome(pattern)
	if inHome {
		pattern = rest
	}
	name := strings.ReplaceAll(strings.ReplaceAll(m.label.Name, "/", "_"), "%", "%%")
	if strings.Trim(name, ".") == "" || strings.ContainsRune(name, '\\') {
		name = "_"
	}
	path = strings.NewReplacer("%%", "%%", "%j", id, "%A", array, "%a", task, "%n", name).Replace(pattern)
	switch {
	case inHome && m.site.Home == "":
		return "", "Slurm does not know ~ in the path of a log: write the directory out (--log)"
	case inHome:
		return filepath.Join(escapePercent(m.site.Home), path), ""
	case filepath.IsAbs(path):
		return path, ""
	}
	return filepath.Join(escapePercent(m.p.Dir), path), ""
}

// logDir returns the directory of --log up to the first pattern that depends on the job, or "".
func (m *mapping) logDir() string {
	path, _ := m.logPath()
	if path == "" {
		return ""
	}
	var known strings.Builder
	for path != "" {
		text, rest, varies := strings.Cut(path, "%")
		known.WriteString(text)
		if varies && !strings.HasPrefix(rest, "%") {
			break
		}
		if varies {
			known.WriteByte('%')
		}
		path = strings.TrimPrefix(rest, "%")
	}
	return filepath.Dir(known.String() + "x")
}

// escapePercent escapes the percent signs of a directory. Slurm then finds no patterns in it.
func escapePercent(dir string) string { return strings.ReplaceAll(dir, "%", "%%") }
