package onslurm

import (
	"cmp"
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/slurmexec"
	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// addDetails adds the facts that only 'scontrol show job' prints. If that fails, the job stays as
// squeue described it.
func (e *Engine) addDetails(ctx context.Context, id string, j *api.Job) {
	out, err := e.slurm.Ask(ctx, "scontrol", "show", "job", "--oneliner", "--details", id)
	if err != nil {
		return
	}
	record, ok := afterName(string(out), j)
	if !ok {
		e.note(unclearGPUs(j))
		return
	}
	nodes, _ := e.nodes(ctx)
	if list := allocations(record, numberGPUs(nodes)); len(list) > 0 && !j.StartedAt.IsZero() && j.State != job.Queued {
		j.GPUs = list
	}
	if j.UID != e.uid && e.uid != 0 {
		return
	}
	j.Requeue = new(fact(record, "Requeue") == "1")
	path := fact(record, "StdOut")
	if j.Array != nil {
		path = "" // each task has a separate file
	}
	j.Private = new(api.Private)
	j.Private.Dir, j.Private.Log = api.Bytes(fact(record, "WorkDir")), contract.Log{Path: expand(path, j)}
	if command := fact(record, "Command"); command != "" {
		j.Private.Command = command
	}
}

// factName matches the name of a fact in a line of
// scontrol. The previous value ends where a name begins.
var factName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` [A-Z][A-Za-z:/_]*=`) })

// fact returns a value from a line that scontrol printed, or "". If a name occurs several times,
// the last value counts: in a job's line, the texts of the user come before the facts that are read
// here.
func fact(line, name string) string { return factAt(line, name, strings.LastIndex(line, " "+name+"=")) }

// firstFact is like fact, but returns the first value. It reads lines about nodes, for instance, in
// which free texts come last.
func firstFact(line, name string) string {
	return factAt(line, name, strings.Index(line, " "+name+"="))
}

func factAt(line, name string, at int) string {
	if at < 0 {
		return ""
	}
	value := line[at+len(name)+2:]
	if end := factName().FindStringIndex(value); end != nil {
		value = value[:end[0]]
	}
	return slurmexec.Known(strings.TrimSpace(value))
}

// expand replaces the patterns that Slurm has left in a path (sbatch(1), FILENAME PATTERN).
func expand(path string, j *api.Job) string {
	if !strings.Contains(path, "%") {
		return path
	}
	array, task := j.ID.String(), "4294967294"
	if j.Task != nil {
		array, task = j.Task.Array.String(), strconv.Itoa(j.Task.Index)
	}
	return job.FillLog(path, map[byte]string{'%': "%", 'j': j.ID.String(), 'J': j.ID.String(), 'A': array, 'a': task,
		'u': j.User, 'x': j.Name, 'n': "0", 't': "0", 's': "batch"})
}

// gpuIndexes matches the GPUs in a gres list. Slurm prints their numbers, "gpu:a100:2(IDX:0-1,3)",
// or since 23.11 the used parts of each GPU, "shard:a100:3(3/8,0/8)".
var gpuIndexes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:gpu|shard|mps)[^ (]*\((?:IDX:([0-9,-]+)|([0-9]+/[0-9]+(?:,[0-9]+/[0-9]+)*))\)`)
})

// usedGPUs returns the numbers of the GPUs in a gres list.
func usedGPUs(gres string) (list []int) {
	for _, m := range gpuIndexes().FindAllStringSubmatch(gres, -1) {
		if m[2] == "" {
			list = append(list, parseNumbers(m[1])...)
			continue
		}
		for i, part := range strings.Split(m[2], ",") {
			if !strings.HasPrefix(part, "0/") {
				list = append(list, i)
			}
		}
	}
	return list
}

// nodesGres matches the parts of a line that list a job's resources on nodes.
var nodesGres = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(` Nodes=([^ ]+) CPU_IDs=[^ ]* Mem=[^ ]* GRES=([^ ]*)`)
})

// unclearGPUs is the note about the GPUs of a job whose record is ambiguous.
func unclearGPUs(j *api.Job) string {
	return "can't read what Slurm says about job " + displayName(j) + ", so its GPUs are not shown"
}

// afterName returns the part of scontrol's text about a job that follows the job's name. It fails
// unless the text begins with the name and the user that squeue reported.
func afterName(text string, j *api.Job) (rest string, ok bool) {
	for !strings.HasPrefix(text, "JobName=") {
		word, after, _ := strings.Cut(text, " ")
		if !strings.Contains(word, "=") || strings.Contains(word, "\n") {
			return "", false
		}
		text = after
	}
	text = strings.TrimLeft(strings.TrimPrefix(text, "JobName="), " \t\n")
	name := strings.TrimSpace(j.Name)
	if word, after, _ := strings.Cut(text, " "); name == "" && slurmexec.Known(word) == "" {
		text = after
	} else if text, ok = strings.CutPrefix(text, name); !ok || name == "" {
		return "", false
	}
	text = strings.TrimLeft(text, " \t\n")
	if strings.HasPrefix(text, "HetJobIdSet=") {
		_, text, _ = strings.Cut(text, " ")
	}
	user, _, _ := strings.Cut(text, " ")
	ok = strings.HasPrefix(user, "UserId=") && strings.HasSuffix(user, "("+strconv.Itoa(j.UID)+")")
	return " " + text, ok
}

// recordsByID returns the parts of an answer about many jobs, by job id. Each part begins where the
// record of that job may begin.
func recordsByID(text string) map[string][]string {
	found := map[string][]string{}
	for from := 0; from < len(text); {
		if rest, ok := strings.CutPrefix(text[from:], "JobId="); ok {
			id, _, _ := strings.Cut(rest[:min(len(rest), 20)], " ")
			found[id] = append(found[id], text[from:])
		}
		next := strings.IndexByte(text[from:], '\n')
		if next < 0 {
			break
		}
		from += next + 1
	}
	return found
}

// recordOf returns the record of a job. It fails if several candidates fit, because a name or a
// comment may contain a line that looks like a record.
func recordOf(found []string, j *api.Job) (record string, ok bool) {
	n := 0
	for _, text := range found {
		if rest, fits := afterName(text, j); fits {
			record, n = rest, n+1
		}
	}
	return record, n == 1
}

// allocations returns the GPUs in a job's record. In the record, the GPUs come before all texts of
// the user except the name. The argument number maps the GPUs of nodes to the GPUs of the cluster.
func allocations(record string, number map[gpuOnNode]int) (list []api.Allocation) {
	line, _, _ := strings.Cut(record, "\n")
	line, _, _ = strings.Cut(line, " Command=")
	line, _, _ = strings.Cut(line, " MinCPUsNode=")
	_, line, _ = strings.Cut(line, " JOB_GRES=")
	if strings.Contains(line, " JOB_GRES=") {
		return nil
	}
	for _, on := range nodesGres().FindAllStringSubmatch(line, -1) {
		nodes, err := slurm.Hostnames(on[1])
		if err != nil {
			nodes = []string{on[1]}
		}
		for _, node := range nodes {
			for _, i := range usedGPUs(on[2]) {
				at := gpuOnNode{node, i}
				index, ok := number[at]
				if !ok {
					index = i
				}
				list = append(list, api.Allocation{GPU: contract.GPU{Index: index, UUID: at.String()}})
			}
		}
	}
	slices.SortFunc(list, func(x, y api.Allocation) int { return cmp.Compare(x.Index, y.Index) })
	return slices.CompactFunc(list, func(x, y api.Allocation) bool { return x.UUID == y.UUID })
}

// parseNumbers parses lists of numbers such as "0-1,3".
func parseNumbers(text string) (list []int) {
	for part := range strings.SplitSeq(text, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(lo)
		last := first
		if isRange {
			last, _ = strconv.Atoi(hi)
		}
		for i := first; err == nil && i <= min(last, first+maxRange); i++ {
			list = append(list, i)
		}
	}
	return list
}

// maxRange is the maximum number of GPUs in a node or a range.
const maxRange = 65536

// OutputFile returns the path of a job's output. It returns "" if
// Slurm does not report the path, or if the caller may not read the
// file. The file may not exist yet, and may be on another machine.
func (e *Engine) OutputFile(j api.Job) string {
	if j.Private == nil || j.Private.Log.Path == "" {
		return ""
	}
	return filepath.Clean(j.Private.Log.Path)
}
