package onslurm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A node is a machine of the cluster as scontrol shows it.
type node struct {
	name, state     string
	reason, by      string    // why the node is in its state, and who set the state
	since           time.Time // when reason was set
	gpus            []nodeGPU // ordered by number
	cpus, cpusTaken int
	mem, memTaken   int64 // in bytes
	features        []string
	gres            string
}

type nodeGPU struct {
	kind string
	used bool
}

// gpuOnNode identifies a GPU by its node and its number on the node.
type gpuOnNode struct {
	node string
	gpu  int
}

// String returns a replacement for a UUID, such as "n1/gpu0". Slurm does not know UUIDs.
func (g gpuOnNode) String() string { return fmt.Sprintf("%s/gpu%d", g.node, g.gpu) }

// nodes returns all nodes, ordered by name.
func (e *Engine) nodes(ctx context.Context) ([]node, error) {
	out, err := e.slurm.Ask(ctx, "scontrol", "show", "node", "--oneliner", "--details")
	if err != nil {
		return nil, err
	}
	return readNodes(string(out)), nil
}

func readNodes(text string) (list []node) {
	for line := range strings.Lines(text) {
		n := node{name: firstFact(" "+line, "NodeName"), state: firstFact(line, "State"),
			gres: firstFact(line, "Gres")}
		if n.name == "" {
			continue
		}
		n.reason, n.by, n.since = splitReason(firstFact(line, "Reason"))
		n.cpus, _ = strconv.Atoi(firstFact(line, "CPUTot"))
		n.cpusTaken, _ = strconv.Atoi(firstFact(line, "CPUAlloc"))
		n.mem, n.memTaken = parseSize(firstFact(line, "RealMemory")), parseSize(firstFact(line, "AllocMem"))
		if f := firstFact(line, "AvailableFeatures"); f != "" {
			n.features = strings.Split(f, ",")
		}
		n.gpus = gpusOf(n.gres)
		for _, i := range usedGPUs(firstFact(line, "GresUsed")) {
			if i < len(n.gpus) {
				n.gpus[i].used = true
			}
		}
		list = append(list, n)
	}
	slices.SortFunc(list, func(x, y node) int { return cmp.Compare(x.name, y.name) })
	return list
}

// gpusOf parses a list such as "gpu:a100:4,gpu:v100:2,shard:16".
func gpusOf(gres string) (list []nodeGPU) {
	for part := range strings.SplitSeq(gres, ",") {
		part, _, _ = strings.Cut(part, "(")
		words := strings.Split(part, ":")
		n, err := strconv.Atoi(words[len(words)-1])
		if words[0] != "gpu" || err != nil || n > maxRange {
			continue
		}
		kind := ""
		if len(words) > 2 {
			kind = words[1]
		}
		for range n {
			list = append(list, nodeGPU{kind: kind})
		}
	}
	return list
}

// splitReason splits "fan [root@1700000000]" into its parts. The time may also be a local date.
func splitReason(text string) (reason, by string, since time.Time) {
	i := strings.LastIndex(text, " [")
	name, at, ok := strings.Cut(strings.TrimSuffix(text[max(i, 0):], "]"), "@")
	if since = parseTime(at); i < 0 || !ok || since.IsZero() {
		return text, "", time.Time{}
	}
	return text[:i], strings.TrimPrefix(name, " ["), since
}

// availability reports whether the node takes no jobs (closed), and whether an administrator wants
// that (drained).
func (n *node) availability() (closed, drained bool) {
	state := strings.ToUpper(n.state)
	drained = strings.Contains(state, "DRAIN") || strings.Contains(state, "MAINT") || strings.Contains(state, "RESERVED")
	for _, word := range []string{"DOWN", "FAIL", "NOT_RESPONDING", "POWERING", "FUTURE", "UNKNOWN", "REBOOT"} {
		closed = closed || strings.Contains(state, word)
	}
	return closed || drained || strings.HasSuffix(n.state, "*"), drained
}

// stateText returns the state for people, such as "down,
// not responding" for DOWN+NOT_RESPONDING and DOWN*.
func (n *node) stateText() string {
	state := strings.TrimRight(n.state, "*~#!%$@^-+")
	text := strings.NewReplacer("*", "", "+", ", ", "_", " ").Replace(strings.ToLower(state))
	if strings.Contains(n.state, "*") {
		text += ", not responding"
	}
	return text
}

// numberGPUs numbers the GPUs of the cluster, node after node.
func numberGPUs(list []node) map[gpuOnNode]int {
	numbers := map[gpuOnNode]int{}
	for _, n := range list {
		for i := range n.gpus {
			numbers[gpuOnNode{n.name, i}] = len(numbers)
		}
	}
	return numbers
}

// listGPUs lists the GPUs of all nodes, numbered node after node. It leaves out memory and other
// values that only the driver of each machine knows.
func (e *Engine) listGPUs(ctx context.Context) (api.GPUsReply, error) {
	live, err := e.queue(ctx, onGPUs)
	if err != nil {
		return api.GPUsReply{}, err
	}
	return api.GPUsReply{Schema: api.Schema, GPUs: e.locate(ctx, live, 0)}, nil
}

func gpuList(list []node) []api.GPU {
	gpus := []api.GPU{}
	for _, n := range list {
		closed, drained := n.availability()
		for i, of := range n.gpus {
			g := api.GPU{StateDetail: n.reason, GPU: job.GPU{
				Index: len(gpus), UUID: gpuOnNode{n.name, i}.String(), Minor: i, Name: cmp.Or(of.kind, "GPU") + " on " + n.name,
				State: job.GPUFree, FreeMilli: job.WholeGPU, NUMANode: -1, UtilPercent: -1, TempC: -1, PowerMilliW: -1,
			}}
			if of.used {
				g.State, g.FreeMilli = job.GPUBusy, 0
			}
			if g.Drain, g.Paused = drained, drained; drained {
				g.PausedBy, g.PausedAt = n.by, n.since
			}
			switch {
			case drained && of.used:
				g.State, g.PausedReason = job.GPUDraining, n.reason
			case drained:
				g.State, g.PausedReason = job.GPUDrained, n.reason
			case closed:
				g.State, g.StateDetail = job.GPULost, "node "+n.name+" is "+n.stateText()
			}
			gpus = append(gpus, g)
		}
	}
	return gpus
}

// maxJobsLocated is the maximum number of jobs for which locate asks Slurm about all jobs at once.
// With more jobs, locate leaves the GPUs out, unless it can ask about single jobs (manyJobs).
const maxJobsLocated = 5000

// manyJobs is a threshold. With more jobs than this, locate asks about each job with GPUs
// separately, if at most maxSingleQueries jobs have GPUs.
const manyJobs = 500

// locate sets the GPUs of the jobs, and returns all GPUs with their jobs. The argument absent is
// the number of jobs that the other argument does not contain. If a query fails, locate leaves the
// GPUs out: for callers, the jobs matter most.
func (e *Engine) locate(ctx context.Context, jobs []api.Job, absent int) []api.GPU {
	nodes, err := e.nodes(ctx)
	if err != nil {
		return []api.GPU{}
	}
	gpus, live := gpuList(nodes), 0
	for i := range gpus {
		gpus[i].Engine = e.Names
	}
	for i := range jobs {
		if jobs[i].State.Live() && jobs[i].GPUMilli > 0 {
			live++
		}
	}
	few := live <= maxSingleQueries && len(jobs)+absent > manyJobs
	if live == 0 || !few && len(jobs)+absent > maxJobsLocated {
		return gpus
	}
	found, number, alone := map[string][]string{}, numberGPUs(nodes), 0
	if !few {
		out, err := e.slurm.Ask(ctx, "scontrol", "show", "job", "--oneliner", "--details")
		if err != nil {
			return gpus
		}
		found = recordsByID(string(out))
	}
	for i := range jobs {
		j := &jobs[i]
		said := found[j.ID.String()]
		if !j.State.Live() || !few && len(said) == 0 || few && j.GPUMilli == 0 {
			continue
		}
		record, ok := recordOf(said, j)
		if !ok && alone < maxSingleQueries {
			alone++
			record, ok = e.showRecord(ctx, j)
		}
		if !ok && j.GPUMilli > 0 {
			e.note(unclearGPUs(j))
		}
		if !ok {
			continue
		}
		j.GPUs = allocations(record, number)
		for _, at := range j.GPUs {
			if at.Index < len(gpus) {
				g := &gpus[at.Index]
				g.Jobs = append(g.Jobs, j.ID)
				g.Shares = append(g.Shares, job.GPUShare{Job: j.ID, Called: displayName(j), Milli: min(j.GPUMilli, job.WholeGPU)})
			}
		}
	}
	return gpus
}

// maxSingleQueries is the maximum number of jobs about which locate asks separately. These are the
// jobs whose records are ambiguous in Slurm's answer about all jobs or, if there are many jobs
// (manyJobs), all jobs with GPUs.
const maxSingleQueries = 20

// showRecord asks Slurm for the record of a single job.
func (e *Engine) showRecord(ctx context.Context, j *api.Job) (string, bool) {
	out, err := e.slurm.Ask(ctx, "scontrol", "show", "job", "--oneliner", "--details", j.ID.String())
	if err != nil || !strings.HasPrefix(string(out), "JobId="+j.ID.String()+" ") {
		return "", false
	}
	return afterName(string(out), j)
}

// Meant announces the GPUs of the following calls of Do. Slurm takes only whole nodes out of
// service, so a command must name all GPUs of a node.
func (e *Engine) Meant(indexes []int) { e.meant, e.controlled = indexes, nil }

// controlGPU drains or resumes the node of a GPU. It refuses unless the command names all GPUs of
// the node. A node is changed only once, although controlGPU is called for each of its GPUs.
func (e *Engine) controlGPU(ctx context.Context, index int, stops bool, r api.PauseRequest) (api.GPUsReply, error) {
	verb, args := "resume", []string{"State=RESUME"}
	if stops {
		verb, args = "pause", []string{"State=DRAIN", "Reason=" + cmp.Or(r.Reason, "paused by gpusched")}
	}
	if !r.Until.IsZero() {
		return api.GPUsReply{}, e.Refusal("gpu pause --until")
	}
	list, err := e.nodes(ctx)
	if err != nil {
		return api.GPUsReply{}, err
	}
	meant := e.meant
	if !slices.Contains(meant, index) {
		meant = []int{index}
	}
	if err := wholeNodes(list, meant, verb); err != nil {
		return api.GPUsReply{}, err
	}
	first := 0
	for _, n := range list {
		if first += len(n.gpus); index >= first {
			continue
		}
		if !slices.Contains(e.controlled, n.name) {
			if _, err := e.slurm.Ask(ctx, "scontrol", append([]string{"update", "NodeName=" + n.name}, args...)...); err != nil {
				return api.GPUsReply{}, err
			}
			e.controlled = append(e.controlled, n.name)
			if !stops {
				e.awaitNode(ctx, n.name)
			}
		}
		return e.listGPUs(ctx)
	}
	return api.GPUsReply{}, noGPU(index)
}

func noGPU(index int) error {
	return &api.Error{Code: api.CodeNotFound, Message: fmt.Sprintf("there is no GPU %d", index), Hint: "see 'gpusched gpus'"}
}

// wholeNodes returns an error if only some GPUs of a node are named, or if a named GPU does not
// exist. It is called before any node is changed.
func wholeNodes(list []node, meant []int, verb string) error {
	first := 0
	for _, n := range list {
		some, all := -1, true
		for index := first; index < first+len(n.gpus); index++ {
			if is := slices.Contains(meant, index); is && some < 0 {
				some = index
			} else if !is {
				all = false
			}
		}
		if some >= 0 && !all {
			span := fmt.Sprintf("%d-%d", first, first+len(n.gpus)-1)
			return engines.Refuse(api.CodeNever, fmt.Sprintf("'gpusched gpu %s %s' is the whole node", verb, span),
				"Slurm can't %s GPU %d alone: it drains whole nodes, and %s has GPUs %s", verb, some, n.name, span)
		}
		first += len(n.gpus)
	}
	if i := slices.IndexFunc(meant, func(index int) bool { return index >= first }); i >= 0 {
		return noGPU(meant[i])
	}
	return nil
}

// awaitNode waits until a resumed node responds. Until then the node counts as down.
func (e *Engine) awaitNode(ctx context.Context, name string) {
	for range nodeTries {
		list, err := e.nodes(ctx)
		i := slices.IndexFunc(list, func(n node) bool { return n.name == name })
		if err != nil || i < 0 {
			return
		}
		if out, _ := list[i].availability(); !out || api.Pause(ctx, nodePause) != nil {
			return
		}
	}
}

// How often awaitNode tries, and the time between two tries.
const (
	nodeTries = 20
	nodePause = 250 * time.Millisecond
)
