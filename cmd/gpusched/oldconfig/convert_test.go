package oldconfig

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// FuzzConvert checks that any settings are refused, or become TOML with a report on each setting.
func FuzzConvert(f *testing.F) {
	for _, s := range [][2]string{
		{"config.yaml", "gpu_ids: [0, 1]\nmin_free_mem_mb: 1e3\npoll_interval: 0.5\n"},
		{"config.json", `{"gpu": {"load_threshold": 0.8}, "security": {"allowed_script_paths": ["/a\\"b"]}, "scheduler": {"num_gpus": 2}}`},
		{"config.json", "{\"security\": {\"allowed_script_paths\": [\"/a\x7f\"]}}"},
		{"llm_config.json", `{"models": {"a": 0.5}}`}, {"slurm.conf", "PartitionName=x MaxTime=1-0\nKillWait=5\\\n\n=\n"},
		{"a.yaml", "a: &a [1]\nb: *a\ngpu_ids: *a\n"}, {"a.yml", "\t: {"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		r, err := Convert(name, text)
		if err != nil {
			return
		}
		var out map[string]any
		if err := toml.Unmarshal([]byte(r.TOML), &out); err != nil {
			t.Fatalf("%q gives %q: %v", text, r.TOML, err)
		}
		if len(r.Report) == 0 && strings.TrimSpace(r.TOML) == "" {
			t.Fatalf("%q becomes nothing", text)
		}
	})
}
