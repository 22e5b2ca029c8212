//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// workflow has four rules. The last rule needs the outputs of two others. Together with the target
// rule there are five steps.
const workflow = `rm -rf ~/flow; mkdir -p ~/flow; cd ~/flow; gpusched aliases install --dir ~/flow/bin sbatch srun squeue sacct scancel sinfo scontrol sacctmgr >/dev/null
cat >Snakefile <<'END'
rule all:
    input: "report.txt"
rule prepare:
    output: "data.txt"
    shell: "echo $SLURM_JOB_ID >{output}"
rule train:
    input: "data.txt"
    output: "model.txt"
    shell: "cat {input} >{output}; echo trained $CUDA_VISIBLE_DEVICES >>{output}"
rule check:
    input: "data.txt"
    output: "checked.txt"
    shell: "cp {input} {output}"
rule report:
    input: "model.txt", "checked.txt"
    output: "report.txt"
    shell: "cat {input} >{output}"
END
`

// TestSnakemake: Debian's Snakemake 7 runs a workflow. It calls programs that have the names of
// Slurm's programs but are gpusched. It runs all steps with --cluster, and two steps with its own
// Slurm executor. More steps would take long, because this executor first checks a job after 40
// seconds. Each step is one job.
func TestSnakemake(t *testing.T) {
	begin(t)
	sh(t, "alice", workflow)
	t.Cleanup(func() { try(t, "alice", "gpusched cancel --mine -y; rm -rf ~/flow") })
	for _, c := range []struct {
		options, target string
		steps, jobs     int
		model           string
	}{
		{`--cluster "sbatch --parsable -c {threads} --mem {resources.mem_mb} -t 5 --gres=gpu:1 -o log.%j"`, "all", 5, 4, "trained 0\n"},
		{"--slurm", "model.txt", 2, 2, "trained\n"}, // the Slurm executor requests no GPU
	} {
		before := len(strings.Fields(sh(t, "alice", "gpusched list -a --mine --ended 10000 -o ids")))
		r := try(t, "alice", "export PATH=~/flow/bin:$PATH; cd ~/flow; rm -f *.txt; snakemake -j 4 --max-status-checks-per-second 2 "+
			"--default-resources mem_mb=200 runtime=5 "+c.options+" "+c.target)
		said := r.Stdout + r.Stderr
		if r.Code != 0 || !strings.Contains(said, fmt.Sprintf("%[1]d of %[1]d steps (100%%) done", c.steps)) {
			t.Errorf("%s: exit %d\n%s", c.options, r.Code, said)
		}
		if jobs := len(strings.Fields(sh(t, "alice", "gpusched list -a --mine --ended 10000 -o ids"))) - before; jobs != c.jobs {
			t.Errorf("%s: %d jobs for %d rules", c.options, jobs, c.jobs)
		}
		if model := try(t, "alice", "cat ~/flow/model.txt").Stdout; !strings.HasSuffix(model, c.model) {
			t.Errorf("%s: the model is %q", c.options, model)
		}
	}
}
