//go:build machine

package suite

import (
	"strings"
)

// walkFile checks that a job file with lines for both engines runs unchanged.
func walkFile(w walker) {
	w.createFile("job.sh", `#!/bin/sh
#SBATCH --job-name=both --gres=gpu:1
#SBATCH -t 5 --mem=200M
#SBATCH --partition=main --nodes=1
#GPUSCHED --comment "from a file" --tag a=b
echo "$GPUSCHED_GPU_SHARE and $1"
`)
	id := w.submit("./job.sh 'an argument'")
	w.gs(0, "wait "+id)
	w.checkPrinted(id, "1 and an argument")
	w.checkOutput("show "+id, "both", "from a file", "a=b", "5m")
}

// walkLines checks that each line of a file of jobs becomes a job with the options of its own
// script. Without --again, a line is imported only once on each engine.
func walkLines(w walker) {
	w.createFile("short.sh", "#!/bin/sh\n#SBATCH --partition=short\necho \"short $1\"\n")
	w.createFile("long.sh", "#!/bin/sh\n#SBATCH --partition=main\necho long $1\n")
	w.createFile("jobs", "-n one ./short.sh 'a  b'\n-n two ./long.sh c\n-n three -- echo plain\n")
	names := strings.Fields(w.gs(0, "submit -q -g 0 -t 2m --file jobs"))
	if len(names) != 3 {
		w.Fatalf("submit --file prints %q", names)
	}
	w.gs(0, "wait "+strings.Join(names, " "))
	for i, line := range []string{"short a  b", "long c", "plain"} {
		w.checkPrinted(names[i], line)
	}
	if w.engine == "slurm" {
		for i, partition := range []string{"short", "main", "main"} {
			if got := w.box.sh(w.T, "alice", "squeue --noheader --states=all --format=%P --jobs="+strings.TrimPrefix(names[i], "slurm:")); got != partition {
				w.Errorf("line %d is in partition %s, not %s", i+1, got, partition)
			}
		}
	}
	w.createFile("lines.txt", "echo imported | tr a-z A-Z\n./short.sh twice\n")
	w.checkOutput("import lines.txt -- -g 0 -t 2m", "job "+w.name(""), "2 jobs queued")
	w.checkOutput("import lines.txt -- -g 0 -t 2m", "0 jobs queued, 2 lines known already")
	again := strings.Fields(w.gs(0, "import -o ids --again lines.txt -- -g 0 -t 2m"))
	if len(again) != 2 {
		w.Fatalf("import --again prints %q", again)
	}
	w.gs(0, "wait "+strings.Join(again, " "))
	w.checkPrinted(again[0], "IMPORTED")
	w.checkPrinted(again[1], "short twice")
}

// walkFollow checks that 'gpusched logs -f' shows a job's output as the job prints it, and ends
// with the job. Directories that are missing for the job's output file are created.
func walkFollow(w walker) {
	id := w.submit(`-g 0 --log followed/deep/%j.txt -- sh -c 'echo before; until [ -e ~/go-on ]; do sleep 0.1; done; echo after'`)
	w.box.sh(w.T, "alice", `rm -f ~/go-on; (timeout 60 gpusched --on `+w.engine+` logs -f `+id+` >~/seen 2>&1; echo $? >~/over) >/dev/null 2>&1 &`)
	w.Cleanup(func() { w.box.sh(w.T, "alice", "touch ~/go-on; rm -rf ~/seen ~/over ~/followed") })
	shows := func(text string) {
		poll(w.T, text+" is followed", func() bool { return w.box.try(w.T, "alice", "grep -qx "+text+" ~/seen").Code == 0 })
	}
	shows("before")
	w.box.sh(w.T, "alice", "touch ~/go-on")
	shows("after")
	poll(w.T, "logs -f ends", func() bool { return w.box.try(w.T, "alice", "cat ~/over").Stdout == "0\n" })
	if got := w.box.sh(w.T, "alice", "cat ~/followed/deep/"+id+".txt; rm ~/go-on"); got != "before\nafter" {
		w.Errorf("its file has %q", got)
	}
}

// walkAccounts checks that the limits of the running Slurm become quotas that 'gpusched config
// check' accepts.
func walkAccounts(w walker) {
	w.box.sh(w.T, "", "sacctmgr -i modify user alice set GrpTRES=gres/gpu=3 fairshare=5")
	w.Cleanup(func() { w.box.sh(w.T, "", "sacctmgr -i modify user alice set GrpTRES=gres/gpu=-1 fairshare=1") })
	text := w.box.sh(w.T, "alice", "gpusched import slurm >50-slurm.toml && gpusched config check 50-slurm.toml >&2 && cat 50-slurm.toml && rm 50-slurm.toml")
	_, quota, found := strings.Cut(text, "[quota.user.alice]\n")
	if quota, _, _ = strings.Cut(quota, "\n\n"); !found || !strings.Contains(quota, "gpus = 3") || !strings.Contains(quota, "share = 5") {
		w.Errorf("Slurm's accounts became\n%s", text)
	}
}

// createFile creates an executable file in alice's home.
func (w walker) createFile(name, text string) {
	w.Helper()
	if err := w.box.WriteFile(w.Context(), "/home/alice/"+name, text, 0o755); err != nil {
		w.Fatal(err)
	}
}
