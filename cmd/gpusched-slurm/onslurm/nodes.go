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

// node is a machine of the cluster as scontrol shows it.
type node struct {
	name, state     string
	reason, by      string    // why it is as it is, and who has said so
	since           time.Time // when
	gpus            []gpuOf   // by number
	cpus, cpusTaken int
	mem, memTaken   int64 // bytes
	features        []string
	gres            string
	version         string
}

// gpuOf is a GPU of a node.
type gpuOf struct {
	kind  string
	taken bool
}

// gpuAt is which GPU of which node it is.
type gpuAt struct {
	node string
	gpu  int
}

// String is what stands for a UUID, which Slurm does not know: "n1/gpu0".
func (g gpuAt) String() string { return fmt.Sprintf("%s/gpu%d", g.node, g.gpu) }

// nodes asks for all of them, by name.
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
			gres: firstFact(line, "Gres"), version: firstFact(line, "Version")}
		if n.name == "" {
			continue
		}
		n.reason, n.by, n.since = blame(firstFact(line, "Reason"))
		n.cpus, _ = strconv.Atoi(firstFact(line, "CPUTot"))
		n.cpusTaken, _ = strconv.Atoi(firstFact(line, "CPUAlloc"))
		n.mem, n.memTaken = size(firstFact(line, "RealMemory")), size(firstFact(line, "AllocMem"))
		if f := firstFact(line, "AvailableFeatures"); f != "" {
			n.features = strings.Split(f, ",")
		}
		n.gpus = gpusOf(n.gres)
		for _, i := range taken(firstFact(line, "GresUsed")) {
			if i < len(n.gpus) {
				n.gpus[i].taken = true
			}
		}
		list = append(list, n)
	}
	slices.SortFunc(list, func(x, y node) int { return cmp.Compare(x.name, y.name) })
	return list
}

// gpusOf reads "gpu:a100:4,gpu:v100:2,shard:16".
func gpusOf(gres string) (list []gpuOf) {
	for part := range strings.SplitSeq(gres, ",") {
		part, _, _ = strings.Cut(part, "(")
		words := strings.Split(part, ":")
		n, err := strconv.Atoi(words[len(words)-1])
		if words[0] != "gpu" || err != nil || n > mostOfNode {
			continue
		}
		kind := ""
		if len(words) > 2 {
			kind = words[1]
		}
		for range n {
			list = append(list, gpuOf{kind: kind})
		}
	}
	return list
}

// blame takes a reason apart: "fan [root@1700000000]", or with a date of the local time.
func blame(text string) (reason, by string, since time.Time) {
	i := strings.LastIndex(text, " [")
	name, at, ok := strings.Cut(strings.TrimSuffix(text[max(i, 0):], "]"), "@")
	if since = momentOf(at); i < 0 || !ok || since.IsZero() {
		return text, "", time.Time{}
	}
	return text[:i], strings.TrimPrefix(name, " ["), since
}

// out reports whether no job starts on the node, and whether that is an administrator's wish.
func (n *node) out() (isOut, wished bool) {
	state := strings.ToUpper(n.state)
	wished = strings.Contains(state, "DRAIN") || strings.Contains(state, "MAINT") || strings.Contains(state, "RESERVED")
	for _, word := range []string{"DOWN", "FAIL", "NOT_RESPONDING", "POWERING", "FUTURE", "UNKNOWN", "REBOOT"} {
		isOut = isOut || strings.Contains(state, word)
	}
	return isOut || wished || strings.HasSuffix(n.state, "*"), wished
}

// words are a state for people: "down, not responding" of DOWN+NOT_RESPONDING, and of DOWN*.
func (n *node) words() string {
	state := strings.TrimRight(n.state, "*~#!%$@^-+")
	text := strings.NewReplacer("*", "", "+", ", ", "_", " ").Replace(strings.ToLower(state))
	if strings.Contains(n.state, "*") {
		text += ", not responding"
	}
	return text
}

// gpuNumbers numbers the GPUs of the cluster: node after node, by name.
func (e *Engine) gpuNumbers(ctx context.Context) map[gpuAt]int {
	list, _ := e.nodes(ctx)
	return numbering(list)
}

func numbering(list []node) map[gpuAt]int {
	numbers := map[gpuAt]int{}
	for _, n := range list {
		for i := range n.gpus {
			numbers[gpuAt{n.name, i}] = len(numbers)
		}
	}
	return numbers
}

// gpus lists those of all nodes, numbered node after node. What only the driver of each machine knows, such
// as their memory, is not told.
func (e *Engine) gpus(ctx context.Context) (api.GPUsReply, error) {
	live, err := e.queue(ctx, onGPUs)
	if err != nil {
		return api.GPUsReply{}, err
	}
	return api.GPUsReply{Schema: api.Schema, GPUs: e.placed(ctx, live, 0)}, nil
}

func gpuList(list []node) []api.GPU {
	gpus := []api.GPU{}
	for _, n := range list {
		isOut, wished := n.out()
		for i, of := range n.gpus {
			g := api.GPU{StateDetail: n.reason, GPU: job.GPU{
				Index: len(gpus), UUID: gpuAt{n.name, i}.String(), Minor: i, Name: cmp.Or(of.kind, "GPU") + " on " + n.name,
				State: job.GPUFree, FreeMilli: job.WholeGPU, NUMANode: -1, UtilPercent: -1, TempC: -1, PowerMilliW: -1,
			}}
			if of.taken {
				g.State, g.FreeMilli = job.GPUBusy, 0
			}
			if g.Drain, g.Paused = wished, wished; wished {
				g.PausedBy, g.PausedAt = n.by, n.since
			}
			switch {
			case wished && of.taken:
				g.State, g.PausedReason = job.GPUDraining, n.reason
			case wished:
				g.State, g.PausedReason = job.GPUDrained, n.reason
			case isOut:
				g.State, g.StateDetail = job.GPULost, "node "+n.name+" is "+n.words()
			}
			gpus = append(gpus, g)
		}
	}
	return gpus
}

// mostPlaced is of how many jobs it is asked on which GPUs they are: Slurm answers for all of them at once.
const mostPlaced = 5000

// manyJobs are so many that the few that have GPUs, mostAlone of them at most, are asked one by one.
const manyJobs = 500

// placed puts into jobs, besides which there are more, which GPUs they have, and returns the GPUs with the jobs on
// them. What cannot be asked is left out: the jobs are what was wanted.
func (e *Engine) placed(ctx context.Context, jobs []api.Job, more int) []api.GPU {
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
	few := live <= mostAlone && len(jobs)+more > manyJobs
	if live == 0 || !few && len(jobs)+more > mostPlaced {
		return gpus
	}
	found, number, alone := map[string][]string{}, numbering(nodes), 0
	if !few {
		out, err := e.slurm.Ask(ctx, "scontrol", "show", "job", "--oneliner", "--details")
		if err != nil {
			return gpus
		}
		found = records(string(out))
	}
	for i := range jobs {
		j := &jobs[i]
		said := found[j.ID.String()]
		if !j.State.Live() || !few && len(said) == 0 || few && j.GPUMilli == 0 {
			continue
		}
		record, ok := recordOf(said, j)
		if !ok && alone < mostAlone {
			alone++
			record, ok = e.record(ctx, j)
		}
		if !ok && j.GPUMilli > 0 {
			e.note(untold(j))
		}
		if !ok {
			continue
		}
		j.GPUs = allocations(record, number)
		for _, at := range j.GPUs {
			if at.Index < len(gpus) {
				g := &gpus[at.Index]
				g.Jobs = append(g.Jobs, j.ID)
				g.Shares = append(g.Shares, job.GPUShare{Job: j.ID, Called: called(j), Milli: min(j.GPUMilli, job.WholeGPU)})
			}
		}
	}
	return gpus
}

// mostAlone is of how many jobs, whose records are not clear among those of all, each one's own is asked.
const mostAlone = 20

// record asks for that of a job alone: it is at the beginning.
func (e *Engine) record(ctx context.Context, j *api.Job) (string, bool) {
	out, err := e.slurm.Ask(ctx, "scontrol", "show", "job", "--oneliner", "--details", j.ID.String())
	if err != nil || !strings.HasPrefix(string(out), "JobId="+j.ID.String()+" ") {
		return "", false
	}
	return behindName(string(out), j)
}

// Meant says which GPUs the next calls of Do are about: Slurm takes whole nodes out of service, so all GPUs of a node
// have to be meant.
func (e *Engine) Meant(indexes []int) { e.meant, e.controlled = indexes, nil }

// controlGPU takes the node of a GPU out of service, or back, which is what Slurm can do, where all its GPUs are meant;
// else it is refused with what does it. A node whose GPUs come one after the other is asked about once.
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
		return e.gpus(ctx)
	}
	return api.GPUsReply{}, noGPU(index)
}

func noGPU(index int) error {
	return &api.Error{Code: api.CodeNotFound, Message: fmt.Sprintf("there is no GPU %d", index), Hint: "see 'gpusched gpus'"}
}

// wholeNodes refuses where only some of a node's GPUs are meant, or one that is not there: before anything is done to
// another node.
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

// awaitNode waits for a node that has been put back: until it has answered the controller it counts as one that
// does not respond.
func (e *Engine) awaitNode(ctx context.Context, name string) {
	for range nodeLooks {
		list, err := e.nodes(ctx)
		i := slices.IndexFunc(list, func(n node) bool { return n.name == name })
		if err != nil || i < 0 {
			return
		}
		if out, _ := list[i].out(); !out || api.Pause(ctx, nodePause) != nil {
			return
		}
	}
}

// How often, and how long after each other, awaitNode looks.
const (
	nodeLooks = 20
	nodePause = 250 * time.Millisecond
)
