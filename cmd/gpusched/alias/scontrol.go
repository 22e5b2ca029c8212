package alias

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// scontrolVerbs lists what scontrol can do here.
const scontrolVerbs = "show hostnames LIST, show job [ID], show config, version, update JobId=ID NAME=VALUE..., " +
	"and hold, release, requeue, suspend and resume ID..."

// notHere says what to use instead of other commands of scontrol.
var notHere = map[string]string{
	"show node": "sinfo -N, or gpusched gpus", "show nodes": "sinfo -N, or gpusched gpus", "show partition": "sinfo",
	"show partitions": "sinfo", "show reservation": "gpusched reserve list", "show reservations": "gpusched reserve list",
	"ping": "gpusched health", "show steps": "gpusched exec ID -- ps -ef", "show step": "gpusched exec ID -- ps -ef",
	"listpids": "gpusched exec ID -- ps -ef", "write batch_script": "gpusched show ID, which names the script",
	"top": "gpusched update ID --priority P", "uhold": "scontrol hold ID", "wait_job": "gpusched wait ID, which waits for its end",
	"reconfigure": "systemctl reload gpusched", "create reservation": "gpusched reserve make",
	"delete reservation": "gpusched reserve cancel",
}

// readScontrol handles the scontrol commands that scripts run inside a job or about a job.
func readScontrol(c *Call, t tool, args []string) error {
	oneLine := slices.Contains(args, "-o") || slices.Contains(args, "--oneliner")
	words := slices.DeleteFunc(slices.Clone(args), func(w string) bool {
		return slices.Contains([]string{"-o", "--oneliner", "-d", "-dd", "--details", "-a", "--all", "-Q", "--quiet"}, w)
	})
	verb := strings.Join(words[:min(2, len(words))], " ")
	what, of, _ := strings.Cut(verb, "=") // show job=7
	rest := words[min(2, len(words)):]
	if of != "" {
		rest = slices.Insert(slices.Clone(rest), 0, of)
	}
	switch {
	case (what == "show hostnames" || what == "show hostname") && len(rest) <= 1:
		names, err := slurm.Hostnames(cmp.Or(strings.Join(rest, ""), c.node))
		c.Help = strings.Join(append(names, ""), "\n")
		return err
	case len(words) >= 2 && slices.Contains([]string{"hold", "release", "suspend", "resume", "requeue"}, words[0]):
		c.add(words[0])
		for _, w := range words[1:] {
			c.add(jobNames(namedJob(w))...)
		}
		return nil
	case slices.Contains([]string{"show job", "show jobs", "show jobid"}, what) && len(rest) <= 1:
		c.showJobs(rest, oneLine)
		return nil
	case len(words) >= 2 && words[0] == "update":
		return c.updateJob(words[1:])
	case verb == "show config" && len(rest) == 0:
		c.Help = fmt.Sprintf("MaxArraySize            = %d\nMinJobAge               = %d sec\nSLURM_VERSION           = %s\n",
			job.MaxTasks, int(minJobAge.Seconds()), strings.TrimPrefix(slurmVersion, "slurm "))
		return nil
	case verb == "version":
		c.Help = slurmVersion + "\n"
		return nil
	}
	if use := cmp.Or(notHere[what], notHere[strings.Join(words[:min(1, len(words))], "")]); use != "" {
		return fmt.Errorf("%q is not known here: use %s", strings.Join(args, " "), use)
	}
	return fmt.Errorf("%q is not known here: there are %s", strings.Join(args, " "), scontrolVerbs)
}

// namedJob returns the job that a word such as 7, job=7 or jobname=train names.
func namedJob(word string) string {
	key, value, given := strings.Cut(word, "=")
	switch strings.ToLower(key) {
	case "job", "jobid":
		return value
	case "name", "jobname":
		return "name:" + value
	}
	if given {
		return word
	}
	return key
}

// showJobs shows one job, or all jobs that Slurm would remember.
func (c *Call) showJobs(ids []string, oneLine bool) {
	c.add("list", "--ended=10000")
	if len(ids) == 0 {
		c.add("--all", "--waiting=0")
	}
	for _, id := range ids {
		c.add(jobNames(id)...)
		c.Check = func(jobs []api.Job, _ time.Time) error {
			if len(jobs) == 0 {
				return fmt.Errorf("there is no job %s", id)
			}
			return nil
		}
	}
	if len(ids) > 0 {
		c.add(lookUp)
	}
	c.Table = func(jobs []api.Job, now time.Time) (lines []string) {
		for _, j := range jobs {
			if len(ids) > 0 || !isForgotten(j, now) && !shownByTasks(j) {
				lines = append(lines, c.jobDetails(j, now, oneLine)...)
			}
		}
		return lines
	}
}

// changes maps what 'scontrol update' can change to the options of sbatch that set it.
var changes = map[string]string{
	"timelimit": "--time", "name": "--job-name", "jobname": "--job-name", "comment": "--comment", "nice": "--nice",
	"numcpus": "--cpus-per-task", "mincpusnode": "--cpus-per-task", "minmemorynode": "--mem", "dependency": "--dependency",
	"starttime": "--begin", "eligibletime": "--begin", "gres": "--gres", "trespernode": "--gres", "tresperjob": "--gres",
}

// updateJob turns JobId=7 TimeLimit=60 into 'gpusched update'.
func (c *Call) updateJob(words []string) error {
	id, b := "", slurm.Batch{}
	for i := 0; i < len(words); i++ {
		name, value, given := strings.Cut(words[i], "=")
		key := strings.ToLower(name)
		if !given && i+1 < len(words) { // JobId 7
			i++
			value, given = words[i], true
		}
		option := changes[key]
		switch {
		case key == "job" || key == "jobid":
			id = value
			continue
		case key == "arraytaskthrottle":
			c.add("--array-limit=" + value)
			continue
		case option == "--begin" && value == "now":
			c.add("--begin=now")
			continue
		case key == "dependency" && value == "":
			c.add("--after=none")
			continue
		case key == "timelimit" && slices.Contains([]string{"0", "unlimited", "infinite"}, strings.ToLower(value)):
			c.add("--time=none")
			continue
		case option == "" || !given:
			return fmt.Errorf("%s can't be changed here: there are JobId, TimeLimit, JobName, Comment, Nice, NumCPUs, MinMemoryNode, Gres, "+
				"Dependency, StartTime and ArrayTaskThrottle of a job", name)
		case option == "--gres":
			value = strings.TrimPrefix(value, "gres/")
		}
		if _, err := b.Next([]string{option + "=" + value}); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	changed, err := b.Words()
	if err == nil && id == "" {
		err = fmt.Errorf("no job is named: use update JobId=7 TimeLimit=60")
	}
	c.Words = slices.Concat([]string{"update"}, jobNames(id), c.Words, changed)
	return err
}

// jobDetails formats the parts of 'scontrol show job' that programs read.
func (c *Call) jobDetails(j api.Job, now time.Time, oneLine bool) (lines []string) {
	of := func(name string) string {
		known := fields(c.node)
		i := slices.IndexFunc(known, func(f field) bool { return f.name == name || f.title == name })
		return known[i].of(j, now)
	}
	first := "JobId=" + rawID(j)
	if j.Task != nil {
		first += fmt.Sprintf(" ArrayJobId=%d ArrayTaskId=%d", j.Task.Array, j.Task.Index)
	} else if j.Array != nil {
		first += " ArrayJobId=" + j.ID.String() + " ArrayTaskId=" + waitingTasks(j)
	}
	lines = []string{
		first + " JobName=" + of("JobName"),
		"UserId=" + of("User") + "(" + of("UID") + ") Account=" + of("Account") + " QOS=normal",
		"JobState=" + of("State") + " Reason=" + of("Reason") + " Dependency=" + of("DEPENDENCY"),
		"ExitCode=" + of("ExitCode"),
		"RunTime=" + of("Elapsed") + " TimeLimit=" + of("Timelimit"),
		"SubmitTime=" + of("Submit") + " StartTime=" + of("Start") + " EndTime=" + of("End"),
		"Partition=" + of("Partition") + " NodeList=" + of("NodeList") + " BatchHost=" + of("EXEC_HOST"),
		"NumNodes=1 NumCPUs=" + of("NCPUS") + " MinMemoryNode=" + of("ReqMem") + " TresPerNode=" + of("AllocGRES"),
		"Comment=" + of("Comment"),
	}
	if p := j.Private; p != nil {
		lines = append(lines, "WorkDir="+string(p.Dir))
		if p.Log.Path != "" && p.Log.Path != job.NoLog {
			lines = append(lines, "StdOut="+p.Log.Path)
		}
	}
	if oneLine {
		return []string{strings.Join(lines, " ")}
	}
	for i := range lines[1:] {
		lines[i+1] = "   " + lines[i+1]
	}
	return append(lines, "")
}
