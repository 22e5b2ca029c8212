package oldconfig

import (
	"fmt"
	"strings"
)

// ForJobs is the part of a scheduler's settings that applies to jobs. Users can apply it without an
// administrator.
type ForJobs struct {
	File    string   // the jobs file; "" if none is named
	Options []string // options of gpusched submit for each job
}

// A jobOption maps a setting to an option of gpusched submit.
type jobOption struct {
	old, option, ending string
	value               func(v any) (string, error) // converts the value; nil keeps it
}

var jobOptions = []jobOption{
	{"gpu_ids", "gpus-from", "", readGPUs},
	{"min_free_mem_mb", "gpu-mem", "", sized("M")},
	{"log_dir", "log", "/job_%j.log", nil},
	{"gpu.memory_threshold", "max-used", "%", readPercent},
	{"gpu.load_threshold", "max-load", "%", readPercent},
	{"scheduler.job_timeout_s", "time", "", readSeconds},
	{"files.llm_config_file", "llm-config", "", nil},
}

// Jobs reads the part of a settings file that applies to jobs.
func Jobs(name, text string) (j ForJobs, err error) {
	_, all, err := parse(text)
	if err != nil {
		return j, err
	}
	for _, key := range []string{"commands_file", "files.jobs_file"} {
		if file, ok := all[key].(string); ok {
			j.File = file
		}
	}
	for _, o := range jobOptions {
		v, ok := all[o.old]
		if !ok {
			continue
		}
		text := fmt.Sprint(v)
		if o.value != nil {
			if text, err = o.value(v); err != nil {
				return j, fmt.Errorf("%s: %w", o.old, err)
			}
		}
		j.Options = append(j.Options, "--"+o.option+"="+optionValue(text)+o.ending)
	}
	return j, nil
}

// optionValue turns a TOML value into the form in which users type it for an option.
func optionValue(text string) string {
	return strings.NewReplacer(`"`, "", "[", "", "]", "", ", ", ",").Replace(text)
}
