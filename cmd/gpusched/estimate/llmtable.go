package estimate

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A modelTable is a file that lists models. Its JSON form is that of llm_config.json.
type modelTable struct {
	path string

	Default any            `json:"default_requirement" toml:"default_requirement"`
	Models  map[string]any `json:"models" toml:"models"`
}

// A modelNeed says which GPUs and how much memory a model needs.
type modelNeed struct {
	milli int
	mem   int64
}

// ModelOptions request what the named model needs.
type ModelOptions struct {
	LLM       string `name:"llm" placeholder:"NAME" group:"needs"`
	LLMConfig string `name:"llm-config" placeholder:"FILE" group:"needs"`
}

// Apply fills in the needs of the model, unless the user has requested something else.
func (o *ModelOptions) Apply(a *cli.App, argv []string, r *job.Request) error {
	name := o.LLM
	if name == "" {
		return nil
	}
	if name == "auto" {
		if name = ArgumentOf(argv, "--llm"); name == "" {
			return cli.Refuse(api.CodeUsage, "name the model: --llm NAME", "the command has no --llm NAME from which to take the model")
		}
	}
	tables, err := o.Tables(a.Getenv)
	if err != nil {
		return err
	}
	need, path, err := needOf(tables, name)
	if err != nil {
		return err
	}
	if r.GPUMilli < 0 && len(r.GPUIDs) == 0 && need.milli >= 0 {
		r.GPUMilli = need.milli
	}
	if r.GPUMemBytes == 0 && r.GPUMilli != 0 {
		r.GPUMemBytes = need.mem
	}
	a.NoteOnce(path + ": " + need.say(name))
	return nil
}

func (n modelNeed) say(name string) string {
	var parts cli.Phrases
	parts.Add(n.milli >= 0, "%s", cli.GPURequest(n.milli))
	parts.Add(n.mem > 0, "%s of GPU memory", job.FormatSize(n.mem))
	return name + " needs " + strings.Join(parts, ", ")
}

// ArgumentOf returns the value of an option in a command line, or "".
func ArgumentOf(argv []string, flag string) string {
	for i, arg := range argv {
		if value, ok := strings.CutPrefix(arg, flag+"="); ok {
			return value
		}
		if arg == flag && i > 0 && i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-") {
			return argv[i+1]
		}
	}
	return ""
}

// MaxTable is the largest size of a table of models, in bytes.
const MaxTable = 4 << 20

// Tables reads the given table. If none is given it reads all tables that exist, the user's first.
func (o *ModelOptions) Tables(getenv func(string) string) ([]modelTable, error) {
	paths, named := []string{o.LLMConfig}, o.LLMConfig != ""
	if !named {
		own := getenv("XDG_CONFIG_HOME")
		if own == "" {
			own = filepath.Join(getenv("HOME"), ".config")
		}
		paths = nil
		for _, dir := range []string{filepath.Join(own, "gpusched"), "/etc/gpusched"} {
			paths = append(paths, filepath.Join(dir, "models.toml"), filepath.Join(dir, "llm_config.json"))
		}
	}
	var list []modelTable
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > MaxTable {
			if named {
				return nil, cli.Refuse(api.CodeUsage, "", "%q is not a table of models that can be read", o.LLMConfig)
			}
			continue
		}
		t, err := readTable(path)
		if err != nil {
			return nil, cli.Refuse(api.CodeUsage, `such as: models = { "qwen2.5-7b-inst" = 0.5 }, see gpusched-submit(1)`, "%s: %v", path, err)
		}
		list = append(list, t)
	}
	if len(list) == 0 {
		return nil, cli.Refuse(api.CodeUsage, "name one with --llm-config FILE", "there is no table of models: neither in ~/.config/gpusched nor in /etc/gpusched")
	}
	return list, nil
}

func readTable(path string) (modelTable, error) {
	t := modelTable{path: path}
	text, err := jobenv.ReadAtMost(path, MaxTable)
	if err != nil {
		return t, err
	}
	if filepath.Ext(path) == ".json" {
		err = json.Unmarshal(text, &t)
	} else {
		err = toml.Unmarshal(text, &t)
	}
	return t, err
}

// needOf returns a model's entry in the first table that has the model. If no table has it, needOf
// returns the first default entry.
func needOf(tables []modelTable, name string) (modelNeed, string, error) {
	var known []string
	for _, t := range tables {
		if v, ok := t.Models[name]; ok {
			need, err := parseNeed(v)
			if err != nil {
				return need, "", cli.Refuse(api.CodeUsage, "", "%s: model %q: %v", t.path, name, err)
			}
			return need, t.path, nil
		}
		known = append(known, slices.Sorted(maps.Keys(t.Models))...)
	}
	for _, t := range tables {
		if t.Default != nil {
			need, err := parseNeed(t.Default)
			if err != nil {
				return need, "", cli.Refuse(api.CodeUsage, "", "%s: default_requirement: %v", t.path, err)
			}
			return need, t.path + " (default_requirement)", nil
		}
	}
	hint := "there is " + jobenv.FirstOf(known)
	if near := job.Nearest(name, known); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return modelNeed{}, "", cli.Refuse(api.CodeUsage, hint, "the table of models has no %q", name)
}

// parseNeed parses a number such as 0.5, or a table with gpus and gpu_mem.
func parseNeed(v any) (n modelNeed, err error) {
	n.milli = -1
	switch v := v.(type) {
	case float64:
		n.milli, err = job.ParseGPUs(strconv.FormatFloat(v, 'f', -1, 64))
	case int64:
		n.milli, err = job.ParseGPUs(strconv.FormatInt(v, 10))
	case map[string]any:
		for key, value := range v {
			text, isText := value.(string)
			switch {
			case key == "gpus" && !isText:
				var inner modelNeed
				inner, err = parseNeed(value)
				n.milli = inner.milli
			case key == "gpu_mem" && isText:
				n.mem, err = job.ParseSize(text)
			default:
				err = cli.Usagef("%q is not known here: use gpus, a number, or gpu_mem, such as \"20G\"", key)
			}
			if err != nil {
				return n, err
			}
		}
	default:
		err = cli.Usagef("it is neither a number of GPUs nor a table with gpus and gpu_mem")
	}
	return n, err
}
