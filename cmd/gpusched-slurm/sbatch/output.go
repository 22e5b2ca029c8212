package sbatch

import (
	"path/filepath"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// addOutput says the file that the job's output goes to. There is no journal on Slurm, so one
// without --log has Slurm's own: slurm-42.out in its directory.
func (m *mapping) addOutput() {
	path, refusal := m.logPath()
	if refusal != "" {
		m.refuse("%s", refusal)
	}
	mode := "append" // what an attempt before printed stays
	if m.p.Log.Truncate && path != "" {
		mode = "truncate"
		if m.r.Retries > 0 || m.r.MayRequeue() {
			m.differs(otherTruncate)
		}
	}
	m.add("open-mode", mode)
	if path != "" {
		m.add("output", path)
	}
}

// logPath is the path of --log in Slurm's words, absolute; "" is Slurm's own.
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
		return "", "~ in the path of a log is not known there: write the directory out (--log)"
	case inHome:
		return filepath.Join(plain(m.site.Home), path), ""
	case filepath.IsAbs(path):
		return path, ""
	}
	return filepath.Join(plain(m.p.Dir), path), ""
}

// logDir is the directory of --log, "" where there is none, up to what Slurm puts in for a job.
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

// plain is a directory in which Slurm is to see no sequences.
func plain(dir string) string { return strings.ReplaceAll(dir, "%", "%%") }
