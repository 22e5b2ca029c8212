package submit

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

func TestDefaultName(t *testing.T) {
	for command, want := range map[string]string{
		"python train.py --lr 1e-3":                           "train.py",
		"/usr/bin/python3.11 -W ignore /home/a/train.py x.py": "train.py",
		"python -m pkg.train --out y.py":                      "pkg.train",
		"python -u -m torch.distributed.run":                  "torch.distributed.run",
		"python -c print(1)":                                  "python",
		"python":                                              "python",
		"bash run.sh":                                         "run.sh",
		"bash -lc ./a/b":                                      "bash",
		"./train":                                             "train",
		"/opt/x/bin/prog a.py":                                "prog",
		"torchrun --nproc-per-node 2 train.py":                "train.py",
		"env A=b CUDA=1 python train.py":                      "train.py",
		"timeout 5m ./prog":                                   "prog",
		"nice -n 10 ./prog":                                   "prog",
		"uv run train.py":                                     "train.py",
		"nvidia-smi":                                          "nvidia-smi",
	} {
		if got := DefaultName(strings.Fields(command)); got != want {
			t.Errorf("%s is named %q, want %q", command, got, want)
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add("python\x00-m\x00\xff")
	f.Add(strings.Repeat("ß", 500))
	f.Add("\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		argv := strings.Split(s, "\x00")
		name := DefaultName(argv)
		if name == "" || len(name) > job.MaxNameBytes || !job.Printable(name) {
			t.Errorf("%q is named %q, which the daemon refuses", argv, name)
		}
	})
}
