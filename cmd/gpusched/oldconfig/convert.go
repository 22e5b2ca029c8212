package oldconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Result is a converted settings file.
type Result struct {
	Kind   string // the scheduler that wrote the settings file
	TOML   string
	Report []string // one line about each setting in the file
}

// A rule converts a setting of another scheduler to gpusched's setting section.key. If there is no
// such setting, the rule's note says why. A rule without a value function has only a note.
type rule struct {
	old   string
	ours  string
	value func(v any) (string, error)
	note  string
}

// A dialect is the set of settings that one scheduler has.
type dialect struct {
	kind  string
	marks []string // settings or sections; a file with any of them is in this dialect
	rules []rule
}

var dialects = []dialect{
	{"cudaq", []string{"gpu_ids", "min_free_mem_mb", "poll_interval", "commands_file"}, cudaqRules},
	{"scheduler_10x", []string{"scheduler.", "gpu.", "jobs.max", "files.", "security."}, scheduler10xRules},
	{"llm_config", []string{"models.", "default_requirement"}, nil},
	{"scheduler.py", []string{"paused_gpus", "gpu_states", "gpu_allocations", "jobs"}, state},
}

// Is reports whether a file with this name and text contains settings rather than jobs.
func Is(name, text string) bool {
	for _, ending := range []string{".yaml", ".yml", ".json", ".conf"} {
		if strings.HasSuffix(strings.ToLower(name), ending) {
			return true
		}
	}
	return strings.HasPrefix(strings.TrimSpace(text), "{")
}

// Convert converts a settings file with this name and text.
func Convert(name, text string) (Result, error) {
	if strings.HasSuffix(strings.ToLower(name), ".conf") {
		return convertSlurm(text)
	}
	d, all, err := parse(text)
	if err != nil {
		return Result{}, err
	}
	return d.convert(all), nil
}

// parse returns the dialect of a file, and its settings by full name.
func parse(text string) (d dialect, all map[string]any, err error) {
	if isJSON := strings.HasPrefix(strings.TrimSpace(text), "{"); !isJSON && isOurs(text) {
		return d, nil, fmt.Errorf("it has settings of gpusched itself: put it into /etc/gpusched/conf.d as NAME.toml, " +
			"where an administrator's 'gpusched config check' reads it")
	}
	var top map[string]any
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		err = json.Unmarshal([]byte(text), &top)
	} else {
		err = yaml.Unmarshal([]byte(text), &top)
	}
	if err != nil {
		return d, nil, err
	}
	all = map[string]any{}
	flatten("", top, all)
	for _, d := range dialects {
		if d.has(all) {
			return d, all, nil
		}
	}
	return d, nil, errors.New("it has no setting of a scheduler that is known here " +
		"(config.yaml of cudaq, config.json, llm_config.json or the state file of scheduler.py, slurm.conf)")
}

// isOurs reports whether a text has TOML sections, like gpusched's own settings.
func isOurs(text string) bool {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok && strings.HasSuffix(name, "]") && !strings.ContainsAny(name, `",`) {
			return true
		}
	}
	return false
}

// flatten puts nested settings into one map. The keys are their full names.
func flatten(prefix string, in map[string]any, out map[string]any) {
	for k, v := range in {
		if inner, ok := v.(map[string]any); ok && len(inner) > 0 {
			flatten(prefix+k+".", inner, out)
			continue
		}
		out[prefix+k] = v
	}
}

func (d *dialect) has(all map[string]any) bool {
	for name := range all {
		for _, mark := range d.marks {
			inside := strings.HasPrefix(name, mark+".") || strings.Contains(mark, ".") && strings.HasPrefix(name, mark)
			if name == mark || inside {
				return true
			}
		}
	}
	return false
}

// convert applies the rules in order. Then it reports the settings that have no rule.
func (d *dialect) convert(all map[string]any) Result {
	out := &writer{result: Result{Kind: d.kind}}
	left := maps.Clone(all)
	for _, r := range d.rules {
		if v, ok := left[r.old]; ok {
			out.apply(r, v)
			delete(left, r.old)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		out.applyOther(d, name, left[name])
	}
	return out.done()
}

// A writer collects settings by section.
type writer struct {
	result   Result
	sections []string
	lines    map[string][]string
}

func (w *writer) apply(r rule, v any) {
	text := ""
	if r.value != nil {
		var err error
		if text, err = r.value(v); err != nil {
			w.report("%s: %v, so it is left out", r.old, err)
			return
		}
	}
	if text != "" {
		w.set(r.ours, text)
		w.report("%s → %s = %s", r.old, r.ours, text)
		return
	}
	if r.note == "" {
		w.report("%s: sets no limit, and is left out", r.old)
		return
	}
	typed := strings.ReplaceAll(strings.Trim(fmt.Sprint(v), "[]"), " ", ",")
	w.report("%s: %s", r.old, strings.ReplaceAll(r.note, "%v", typed))
}

// set adds a setting to its section. It replaces an earlier setting of the same name.
func (w *writer) set(ours, text string) {
	section, key, _ := strings.Cut(ours, ".")
	if w.lines == nil {
		w.lines = map[string][]string{}
	}
	if !slices.Contains(w.sections, section) {
		w.sections = append(w.sections, section)
	}
	w.lines[section] = slices.DeleteFunc(w.lines[section], func(line string) bool { return strings.HasPrefix(line, key+" = ") })
	w.lines[section] = append(w.lines[section], key+" = "+text)
}

func (w *writer) report(format string, args ...any) {
	w.result.Report = append(w.result.Report, fmt.Sprintf(format, args...))
}

// applyOther reports a setting that has no rule. Such a setting is a model's number of GPUs, or it
// is unknown.
func (w *writer) applyOther(d *dialect, name string, v any) {
	model, isModel := strings.CutPrefix(name, "models.")
	amount, isNumber := v.(float64)
	switch {
	case d.kind == "llm_config" && isModel && isNumber:
		w.report("%s: gpusched submit --llm %s asks for -g %g", model, model, amount)
	case d.kind == "llm_config" && name == "default_requirement" && isNumber:
		w.report("put the file as it is into ~/.config/gpusched, or into /etc/gpusched for all: submit --llm reads it there")
		w.report("%s: a model that the file does not list asks for -g %g", name, amount)
	case strings.HasPrefix(name, "jobs.") && d.kind == "scheduler.py":
		if what := "jobs: " + ended; !slices.Contains(w.result.Report, what) {
			w.report("%s", what)
		}
	case strings.HasPrefix(name, "gpu_states.") || strings.HasPrefix(name, "gpu_allocations."):
		w.report("%s: %s", name, ownState)
	default:
		w.report("%s: is not known, and left out", name)
	}
}

func (w *writer) done() Result {
	var b strings.Builder
	for i, section := range w.sections {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "[%s]\n%s\n", section, strings.Join(w.lines[section], "\n"))
	}
	w.result.TOML = b.String()
	return w.result
}
