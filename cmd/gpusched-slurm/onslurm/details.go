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
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// details puts in what only 'scontrol show job' says. Without it the job is as squeue says.
func (e *Engine) details(ctx context.Context, id string, j *api.Job) {
	out, err := e.slurm.Ask(ctx, "scontrol", "show", "job", "--oneliner", "--details", id)
	if err != nil {
		return
	}
	record, ok := behindName(string(out), j)
	if !ok {
		e.note(untold(j))
		return
	}
	if list := allocations(record, e.gpuNumbers(ctx)); len(list) > 0 && !j.StartedAt.IsZero() && j.State != job.Queued {
		j.GPUs = list
	}
	if j.UID != e.uid && e.uid != 0 {
		return
	}
	j.Requeue = new(fact(record, "Requeue") == "1")
	path := fact(record, "StdOut")
	if j.Array != nil {
		path = "" // there is one for each task
	}
	j.Private = new(api.Private)
	j.Private.Dir, j.Private.Log = api.Bytes(fact(record, "WorkDir")), contract.Log{Path: expand(path, j)}
	if command := fact(record, "Command"); command != "" {
		j.Private.Command = command
	}
}

// names are those of scontrol's facts behind which a value can end.
var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` [A-Z][A-Za-z:/_]*=`) })

// fact is a value in a line of scontrol's, up to the next name; "" where it is not there. Of a job's the last
// one counts: texts of its user come before what is looked for here.
func fact(line, name string) string { return factAt(line, name, strings.LastIndex(line, " "+name+"=")) }

// firstFact is fact of a line where texts come behind what is looked for, as of a node.
func firstFact(line, name string) string {
	return factAt(line, name, strings.Index(line, " "+name+"="))
}

func factAt(line, name string, at int) string {
	if at < 0 {
		return ""
	}
	value := line[at+len(name)+2:]
	if end := names().FindStringIndex(value); end != nil {
		value = value[:end[0]]
	}
	return slurmexec.Known(strings.TrimSpace(value))
}

// expand fills in the sequences of a path that Slurm has left in it (sbatch(1), FILENAME PATTERN).
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

// indexes are the GPUs in a list of gres: their numbers, "gpu:a100:2(IDX:0-1,3)", or since 23.11 what is taken of
// each one's parts, "shard:a100:3(3/8,0/8)".
var indexes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:gpu|shard|mps)[^ (]*\((?:IDX:([0-9,-]+)|([0-9]+/[0-9]+(?:,[0-9]+/[0-9]+)*))\)`)
})

// taken are the numbers of the GPUs in a list of gres.
func taken(gres string) (list []int) {
	for _, m := range indexes().FindAllStringSubmatch(gres, -1) {
		if m[2] == "" {
			list = append(list, numbers(m[1])...)
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

// nodesGres are the parts of a line that say what a job has on nodes.
var nodesGres = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(` Nodes=([^ ]+) CPU_IDs=[^ ]* Mem=[^ ]* GRES=([^ ]*)`)
})

// untold is said of a job about which scontrol's words are not clear.
func untold(j *api.Job) string {
	return "what Slurm says about job " + called(j) + " can't be read: which GPUs it has is not told"
}

// behindName is what scontrol printed of a job from behind its name on. Squeue has said what the name is, and
// whose the job is; a text that begins with other ones is not about this job.
func behindName(text string, j *api.Job) (rest string, ok bool) {
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

// records are where in an answer about many jobs one may begin, by its number.
func records(text string) map[string][]string {
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

// recordOf is the one of records that is about a job; false where it is not clear which one that is, as a name
// or comment with a line that is like a record makes another.
func recordOf(found []string, j *api.Job) (record string, ok bool) {
	n := 0
	for _, text := range found {
		if rest, fits := behindName(text, j); fits {
			record, n = rest, n+1
		}
	}
	return record, n == 1
}

// allocations are the GPUs of a job by its record. They are before all that its user wrote besides the name.
// number is that of a GPU of a node among those of the cluster.
func allocations(record string, number map[gpuAt]int) (list []api.Allocation) {
	line, _, _ := strings.Cut(record, "\n")
	line, _, _ = strings.Cut(line, " Command=")
	line, _, _ = strings.Cut(line, " MinCPUsNode=")
	_, line, _ = strings.Cut(line, " JOB_GRES=")
	if strings.Contains(line, " JOB_GRES=") {
		return nil
	}
	for _, on := range nodesGres().FindAllStringSubmatch(line, -1) {
		for _, node := range expandNodes(on[1]) {
			for _, i := range taken(on[2]) {
				at := gpuAt{node, i}
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

// numbers reads "0-1,3".
func numbers(text string) (list []int) {
	for part := range strings.SplitSeq(text, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(lo)
		last := first
		if isRange {
			last, _ = strconv.Atoi(hi)
		}
		for i := first; err == nil && i <= min(last, first+mostOfNode); i++ {
			list = append(list, i)
		}
	}
	return list
}

// mostOfNode bounds the GPUs, or nodes, of one range.
const mostOfNode = 65536

// expandNodes reads a list of nodes, "n1" or "n[1-3,07],m4".
func expandNodes(text string) (list []string) {
	for len(text) > 0 {
		end, depth := len(text), 0
		for i, c := range text {
			if c == '[' {
				depth++
			} else if c == ']' {
				depth--
			} else if c == ',' && depth == 0 {
				end = i
				break
			}
		}
		list = append(list, expandNode(text[:end])...)
		text = strings.TrimPrefix(text[end:], ",")
	}
	return list
}

func expandNode(word string) (list []string) {
	head, rest, ok := strings.Cut(word, "[")
	inside, tail, closed := strings.Cut(rest, "]")
	if !ok || !closed {
		return []string{word}
	}
	for part := range strings.SplitSeq(inside, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		if !isRange {
			hi = lo
		}
		first, err1 := strconv.Atoi(lo)
		last, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil {
			return []string{word}
		}
		for i := first; i <= min(last, first+mostOfNode); i++ {
			digits := strconv.Itoa(i)
			digits = strings.Repeat("0", max(0, len(lo)-len(digits))) + digits
			list = append(list, head+digits+tail)
		}
	}
	return list
}

// OutputFile is where a job's output goes, for who may read it: the file of the job itself, "" where Slurm
// does not say. It may not be there yet, or be on another machine alone.
func (e *Engine) OutputFile(j api.Job) string {
	if j.Private == nil || j.Private.Log.Path == "" {
		return ""
	}
	return filepath.Clean(j.Private.Log.Path)
}
