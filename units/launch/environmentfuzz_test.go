package launch

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/units/contract"
)

// FuzzEnvironment: whatever the environments of the submitter and the unit contain, each variable
// occurs once, no variable gives access to the service manager, and the launcher's variables about
// the job have the launcher's values.
func FuzzEnvironment(f *testing.F) {
	f.Add("A=1\nB=\xff\nA=2\n=\nx\nCUDA_VISIBLE_DEVICES=7\nNOTIFY_SOCKET=/x", "PATH=/bin\nNOTIFY_SOCKET=/run/x\nLISTEN_FDS=3", byte(0), true)
	f.Add("GPUSCHED_JOB_ID=9\nPWD=/x\nHOME=\nXDG_RUNTIME_DIR=/x", "LC_ALL=C\nINVOCATION_ID=1\nGPUSCHED_ARRAY_JOB=4", byte(1), false)
	f.Add("PATH=\n_=x\nSHLVL=1\n==\nCREDENTIALS_DIRECTORY=/y", "", byte(2), true)
	f.Fuzz(func(t *testing.T, own, base string, mode byte, filtered bool) {
		s := fullSpec()
		s.Env, s.EnvMode = strings.Split(own, "\n"), []contract.EnvMode{contract.EnvInherit, contract.EnvClean, contract.EnvLogin}[mode%3]
		env := Environment(s, filtered, strings.Split(base, "\n"))
		seen := map[string]bool{}
		for _, kv := range env {
			name := nameOf(kv)
			if name == "" || seen[name] || kindOf(name) == notPassedOn {
				t.Fatalf("%q in %q", kv, env)
			}
			seen[name] = true
		}
		for _, kv := range []string{"GPUSCHED_JOB_ID=42", "GPUSCHED_ATTEMPT=3", "GPUSCHED_GPU_IDS=1,3", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=GPU-aa,GPU-bb"} {
			if !slices.Contains(env, kv) {
				t.Fatalf("no %s in %q", kv, env)
			}
		}
		if seen["GPUSCHED_ARRAY_JOB"] {
			t.Fatalf("no task, and yet %q", env)
		}
	})
}
