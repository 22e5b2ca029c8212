//go:build machine

package suite

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A side is one engine on which alice has jobs, one job in each state.
type side struct {
	walker
	jobs map[string]string // job ids, by the names that bothLines uses
}

// bothLines are the lines that alice types on both engines. Each command of gpusched occurs at
// least once. Instead of RUNS, ENDED, HELD and ARRAY she types the ids of her jobs. The exit
// statuses on both engines are equal unless Slurm cannot do what the line asks.
var bothLines = []struct {
	args         string
	local, slurm int    // exit statuses
	says         string // words that the Slurm side prints
}{
	{"submit -g 0 --hold -- true", 0, 0, "queued: held by"},
	{"submit -g 0 --begin +1h -- true", 0, 0, "queued: not to begin before"},
	{"submit -g 0 --hold --after-any RUNS -- true", 0, 0, "queued: held by"},
	{"submit -g 0 --after-any RUNS -- true", 0, 0, "queued: waits until job RUNS ends"},
	{"submit --json -g 0 --hold -- true", 0, 0, ""},
	{"submit --dry-run -g 1 -- true", 0, 0, "nothing is queued"},
	{"submit -g 9 -- true", 6, 6, "can never start"},
	{"submit -g 0 --after-ok 99999 -- true", 3, 3, "no job 99999 to wait for"},
	{"run -g 0 --after-ok 99999 -- true", 3, 3, "no job 99999 to wait for"},
	{"update HELD --after-ok 99999", 3, 3, "no job 99999 to wait for"},
	{"submit -g 0", 2, 2, "there is no command to run"},
	{"submit -g 0 -- /nowhere/prog", 2, 2, "--force"},
	{"submit --tag broken -g 0 -- true", 2, 2, "not a tag"},
	{"submit --wait -g 0 -- sh -c 'exit 4'", 4, 4, "failed: exit code 4"},
	{"submit --wait -g 0 -C /nowhere --force -- true", 125, 125, "directory"},
	{"run -q -g 0 -- sh -c 'echo hi; exit 5'", 5, 5, "hi"},
	{"shell", 2, 2, "no terminal"},
	{"attach ENDED", 2, 1, "has ended"},
	{"exec RUNS -- sh -c 'echo in $GPUSCHED_JOB_ID; exit 6'", 6, 6, "in RUNS"},
	{"exec HELD -- true", 1, 1, "is queued"},
	{"exec ENDED -- true", 1, 1, "has ended"},
	{"ssh-config gpubox", 0, 2, "not for Slurm"},
	{"proxy </dev/null", -1, 2, "not for Slurm"},
	{"jupyter", 2, 2, "not for Slurm"},
	{"import /nowhere", 2, 2, "no such file"},
	{"watch --help", 0, 0, ""},
	{"watch /nowhere", -1, 2, "not for Slurm"},
	{"add --help", 0, 0, ""},
	{"screens", 0, 2, "not for Slurm"},
	{"list", 0, 0, "ARRAY_[0-4%2]"},
	{"list -u bob", 0, 0, "no such job"},
	{"list -u bob --json", 0, 0, "RUNS"}, // the document shows alice's job because it is on a GPU
	{"list --json", 0, 0, ""},
	{"list -a --json", 0, 0, ""},
	{"list -o csv", 0, 0, "id,task,user,name,state"},
	{"show RUNS", 0, 0, "running on GPU"},
	{"show --json RUNS", 0, 0, ""},
	{"show --json ENDED", 0, 0, ""},
	{"show ARRAY", 0, 0, "waiting             0-4\n"},
	{"show 99999", 3, 3, "no job 99999"},
	{"show xyz", 2, 2, "is not a job"},
	{"history", 0, 0, "ENDED"},
	{"history --json", 0, 0, ""},
	{"why HELD", 0, 0, "held"},
	{"why --json HELD", 0, 0, ""},
	{"why RUNS", 0, 0, "is not waiting"},
	{"why --plan", 0, 2, "Slurm shows no plan"},
	{"logs ENDED", 0, 0, "out\nerr\n"},
	{"logs HELD", 1, 1, "no output yet"},
	{"wait ENDED", 3, 3, "failed: exit code 3"},
	{"wait --json ENDED", 3, 3, ""},
	{"wait --timeout 1s RUNS", 7, 7, "not ended after 1s"},
	{"wait 99999", 3, 3, ""},
	{"hold ENDED", 1, 1, "already ended: failed"},
	{"hold HELD", 0, 0, "is held until"},
	{"release ENDED", 1, 1, "already ended"},
	{"suspend RUNS", 0, 4, "Slurm's operators and administrators"},
	{"resume HELD", 1, 1, ""},
	{"park RUNS", 8, 2, "not for Slurm"},
	{"unpark RUNS", 1, 2, "not for Slurm"},
	{"requeue HELD", 1, 1, ""},
	{"requeue ENDED", 1, 1, "already ended"},
	{"update HELD --time 20m --name other --comment 'two words'", 0, 0, "changed"},
	{"update --json HELD --time 25m", 0, 0, ""},
	{"update ENDED --time 1h", 1, 1, "already ended"},
	{"resubmit ENDED", 0, 2, "not for Slurm"},
	{"migrate --to slurm ENDED", 1, 2, "'gpusched --on local migrate"},
	{"estimate /nowhere", 3, 3, ""},
	{"status", 0, 0, "1 running"},
	{"status --json", 0, 0, ""},
	{"top", 2, 2, "not for Slurm"},
	{"gpus", 0, 0, "busy"},
	{"gpus --json", 0, 0, ""},
	{"gpu pause 0", 4, 6, "is the whole node"},
	{"gpu pause 0-1", 4, 4, "administrators"},
	{"reserve list", 0, 2, "not for Slurm"},
	{"daemon drain", 4, 2, "not for Slurm"},
	{"report", 0, 2, "not for Slurm"},
	{"usage", 0, 2, "not for Slurm"},
	{"events", 0, 2, "not for Slurm"},
	{"health", 9, 9, "DEGRADED"},
	{"health --json", 9, 9, ""},
	{"metrics", 0, 2, "not for Slurm"},
	{"mcp </dev/null", 0, 2, "not for Slurm"},
	{"doctor", 9, 2, "not for Slurm"},
	{"config check", 0, 2, "not for Slurm"},
	{"export slurm", 0, 2, "'gpusched --on local export slurm'"},
	{"aliases", 0, 0, "sbatch"},
	{"version", 0, 0, "slurm 2"},
	{"version --json", 0, 0, ""},
	{"cancel --signal USR1 ARRAY", 1, 1, "no task of job ARRAY runs"},
	{"cancel ENDED", 1, 1, "already ended"},
	{"cancel 99999", 3, 3, "no job 99999"},
	{"cancel --json HELD", 0, 0, ""},
	{"cancel --mine --yes", 0, 0, "cancelled"},
	{"frob", 2, 2, "no command"},
	{"submit --frob", 2, 2, "unknown flag"},
}

// walkBoth checks that each line exits with the same status on both engines, or that the Slurm side
// says what to do instead. It also checks that both print JSON documents of the same form.
func walkBoth(t *testing.T, box slurmBox) {
	local, slurm := newSide(t, box, "local"), newSide(t, box, "slurm")
	commands := map[string]bool{}
	for _, line := range bothLines {
		command, _, _ := strings.Cut(line.args, " ")
		commands[command] = true
		here := ""
		if line.local >= 0 {
			here, _ = local.types(line.args, line.local)
		}
		there, said := slurm.types(line.args, line.slurm)
		if !strings.Contains(there+said, slurm.withIDs(line.says)) {
			t.Errorf("gpusched %s: no %q in\n%s%s", line.args, line.says, there, said)
		}
		if gap := strings.Contains(said, "is not for Slurm") || strings.Contains(said, "Slurm shows no"); gap != (line.slurm == 2 && line.local != 2 || line.says == "not for Slurm") {
			t.Errorf("gpusched %s: %s", line.args, said)
		}
		if strings.Contains(line.args, "--json") {
			sameForm(t, line.args, here, there)
		}
	}
	for line := range strings.Lines(box.sh(t, "alice", "gpusched --help-all")) {
		if len(line) < 4 || line[:2] != "  " || line[2] < 'a' || line[2] > 'z' {
			continue
		}
		if name := strings.Fields(line)[0]; !commands[name] {
			t.Errorf("no line types gpusched %s", name)
		}
	}
}

// newSide queues alice's jobs on an engine and returns the side.
func newSide(t *testing.T, box slurmBox, engine string) side {
	s := side{walker{t, box, engine}, map[string]string{}}
	s.jobs["RUNS"] = s.submit("-g 1 -t 1h -n runs --tag a=b --comment hello -- sleep 600")
	s.jobs["ENDED"] = s.submit("-g 0 -n ends -- sh -c 'echo out; echo err >&2; exit 3'")
	s.jobs["HELD"] = s.submit("-g 1 -t 30m --hold -- true")
	s.jobs["ARRAY"] = s.submit("-g 0 -n array --array 0-4%2 --hold -- true")
	s.gs(3, "wait "+s.jobs["ENDED"])
	s.awaitState(s.jobs["RUNS"], "running")
	return s
}

// withIDs returns a text in which the ids of this side's jobs replace the names of bothLines.
func (s side) withIDs(text string) string {
	for _, name := range []string{"RUNS", "ENDED", "HELD", "ARRAY"} {
		text = strings.ReplaceAll(text, name, s.jobs[name])
	}
	return text
}

func (s side) types(args string, status int) (printed, said string) {
	s.Helper()
	r := s.run(status, s.withIDs(args))
	for _, fault := range []string{"--on slurm --on", "panic", "0001-01-01"} {
		if strings.Contains(r.Stdout+r.Stderr, fault) {
			s.Errorf("gpusched --on %s %s: %q in\n%s%s", s.engine, args, fault, r.Stdout, r.Stderr)
		}
	}
	return r.Stdout, r.Stderr
}

// sameForm checks that each field that is in both documents has the same type in both. It also
// checks that Slurm's document has the fields that every job has.
func sameForm(t *testing.T, args, local, slurm string) {
	t.Helper()
	here, there := map[string]string{}, map[string]string{}
	for text, into := range map[string]map[string]string{local: here, slurm: there} {
		var doc any
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Errorf("gpusched %s: %v in\n%s", args, err, text)
			return
		}
		formOf("", doc, into)
	}
	for key, kind := range there {
		if other, ok := here[key]; ok && kind != other && kind != "null" && other != "null" {
			t.Errorf("gpusched %s: %s is %s, and on this machine %s", args, key, kind, other)
		}
	}
	for key := range here {
		name := key[strings.LastIndex(key, ".")+1:]
		always := []string{"schema", "job", "jobs", "gpus", "id", "name", "user", "uid", "state", "submitted_at", "gpu_milli",
			"priority", "tags", "comment", "time_limit_seconds", "started_at", "result", "reasons", "why", "health", "checks", "counts"}
		if name == "gpus" && strings.HasPrefix(args, "history") {
			continue // Slurm's accounting does not record which GPUs a job had
		}
		if _, ok := there[key]; !ok && slices.Contains(always, name) && !strings.Contains(key, "attempts") && !strings.Contains(key, "reasons[].") {
			t.Errorf("gpusched %s: no %s in\n%s", args, key, slurm)
		}
	}
}

// formOf records the type of each value in a document, by the path of the value.
func formOf(path string, value any, into map[string]string) {
	switch v := value.(type) {
	case map[string]any:
		for key, part := range v {
			formOf(path+"."+key, part, into)
		}
	case []any:
		for _, part := range v {
			formOf(path+"[]", part, into)
		}
	case nil:
		into[path] = "null"
		return
	}
	into[path] = fmt.Sprintf("%T", value)
}
