package config

import (
	"strings"
	"testing"
)

// A limit of memory or CPUs is an amount, a percentage or none. Reading the output of Show gives
// the same limit.
func TestParts(t *testing.T) {
	for text, want := range map[string]string{
		`quota.default.mem = "64G"`: "", `quota.default.mem = "50%"`: "", `quota.default.mem = "none"`: "", `quota.default.cpus = 12`: "",
		`quota.default.cpus = "50%"`: "", `quota.default.cpus = "none"`: "", `jobs.cpus = 1`: "", `jobs.cpus = "100%"`: "",
		`quota.default.mem = 64`:     `quota.default.mem: must be text in quotes such as "64G", not a number`,
		`quota.default.mem = "0%"`:   `"0%" is not a percentage from 1% to 100%`,
		`quota.default.mem = "1K"`:   `1K is out of range: use 1M to 1024T`,
		`quota.default.mem = "half"`: `a percentage such as 80%, or none`,
		`quota.default.cpus = 0`:     `quota.default.cpus: 0 is out of range: use 1 to 8192, or "none"`,
		`quota.default.cpus = 1.5`:   `must be a whole number without quotes, a percentage such as "80%", or "none", not a number with a fraction`,
		`jobs.cpus = "101%"`:         `must be a whole number without quotes, a percentage such as "80%", or "none", not text in quotes`,
		`jobs.default_cpus = 8193`:   `jobs.default_cpus: 8193 is out of range: use 1 to 8192, or "none"`,
	} {
		cfg, _, err := Parse("f", []byte(text))
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
			continue
		}
		if shown := strings.Split(text, ".")[1]; err != nil || !strings.Contains(Show(cfg, nil), shown[len("default"):]+"\n") && !strings.Contains(Show(cfg, nil), shown+"\n") {
			t.Errorf("%s: %v, shown\n%s", text, err, Show(cfg, nil))
		}
	}
}
