package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// FuzzParse checks invariants 1 to 3 and 5 for any file.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", Sample(), Show(Default(), Origins{}), "[jobs]\nmax_time = \"1-12\"\n[gpus]\nonly = [2,0]\n", "jobs = { requeue = false }\n",
		"jobs.max_queued = 1\r\n", "[[jobs]]\n[jobs.x]\n",
		"[quota.default]\njobs = 3\n[quota.user.\"first.last\"]\ngpus = 1.5\n[quota.group.lab]\ngpu_hours = 10\n[class.low]\nmax_time = \"1h\"\n",
		"quota = { user = { a = { gpus = \"none\", share = 2 } } }\nclass = { low = {} }\n[gpus]\nmax_load = 0.8\nmax_used = \"90%\"\nmin_free_memory = \"none\"\n",
		"[scheduling]\nhalf_life = \"\"\npolicy = \"fifo\"\n[quota.user.\"é\\\"x\"]\n", "\"\\u001b\".a = 1", "[gpus]\nmemory_slack = \"1.5G\"", "a = [[[[[[{b=[1979-05-27]}]]]]]]",
		"[daemon]\nhost_mem_reserve = \"7%\"\nadmin_group = \"\\u00e9 \\\\ \\\"x\\\"\"\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, origins, err := Parse("f", data)
		if err != nil {
			checkRefusal(t, cfg, origins, err)
			return
		}
		again, _, err := Parse("shown", []byte(Show(cfg, origins)))
		if err != nil || !equal(again, cfg) {
			t.Fatalf("shown as\n%s\nread as %+v, %v", Show(cfg, origins), again, err)
		}
		checkUnset(t, cfg, origins)
	})
}

// checkUnset checks that keys that no file sets have their defaults.
func checkUnset(t *testing.T, cfg Config, origins Origins) {
	defaults := Default()
	for _, s := range sections() {
		for _, name := range s.inUse(&cfg) {
			if s.add != nil {
				s.add(&defaults, name)
			}
		}
	}
	defaults.Quotas.Default = cfg.Quotas.Default // checked below, as the fallback of users
	inherit(&defaults.Quotas, origins, cfg.Jobs.MaxRunning)
	defaults.Quotas.Default = Default().Quotas.Default
	defaults.Quotas.Default.Running = jobsOf(cfg.Jobs.MaxRunning)
	for _, k := range keysIn(&cfg) {
		if _, set := origins[k.full()]; !set && k.bind(&cfg).spell() != k.bind(&defaults).spell() {
			t.Fatalf("%s changed without an origin", k.full())
		}
	}
}

// equal compares two Configs. An empty list equals nil.
func equal(a, b Config) bool {
	for _, c := range []*Config{&a, &b} {
		if len(c.GPUs.Only) == 0 {
			c.GPUs.Only = nil
		}
		if len(c.GPUs.ExtraDevices) == 0 {
			c.GPUs.ExtraDevices = nil
		}
	}
	return reflect.DeepEqual(a, b)
}

func checkRefusal(t *testing.T, cfg Config, origins Origins, err error) {
	var problems Problems
	if !errors.As(err, &problems) || !reflect.DeepEqual(cfg, Config{}) || origins != nil {
		t.Fatalf("got %+v, %v with %v", cfg, origins, err)
	}
	for _, p := range problems {
		if p.File != "f" || p.Line < 1 || p.Column < 1 {
			t.Fatalf("no position: %+v", p)
		}
		if !job.Printable(p.Text) {
			t.Fatalf("not printable: %q", strings.TrimSpace(p.Text))
		}
	}
}
