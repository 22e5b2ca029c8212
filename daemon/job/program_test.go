package job

import "testing"

func TestIsWrapper(t *testing.T) {
	for program, want := range map[string]bool{
		"python": true, "/home/bob/venv/bin/python3.12": true, "pypy3": true, "/usr/bin/env": true, "lua5.4": true, "R": true, "timeout": true, "srun": true,
		"": false, "pythonic": false, "r": false, "./train": false, "/usr/bin/env/x": false, "nvidia-smi": false, "3.12": false,
	} {
		if got := IsWrapper(program); got != want {
			t.Errorf("IsWrapper(%q) = %v", program, got)
		}
	}
}

func TestIsScript(t *testing.T) {
	for arg, want := range map[string]bool{
		"train.py": true, "/a/b.SH": true, "fit.R": true, "x.ipynb": true, "-x.py": false, "--init=a.py": false, "a.pyc": false, "py": false, "": false,
	} {
		if got := IsScript(arg); got != want {
			t.Errorf("IsScript(%q) = %v", arg, got)
		}
	}
}
