package core_test

// These commands change the machine itself: commands of jobs end, and GPUs change.

import (
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

// readMemory reads the memory that a process uses.
func (s *script) readMemory() int64 {
	switch s.text("mem") {
	case "unknown":
		return -1
	case "none":
		return -2
	}
	return s.size("mem")
}

func (s *script) exit() {
	u := s.w.units[s.id()]
	if u == nil {
		s.log("job %d has no unit", s.id())
		return
	}
	oom := s.has("oom")
	stopped := s.has("stopped")
	if u.Spent = s.has("spent"); u.Spent {
		s.w.clear(u)
	}
	u.Phase, u.ended = core.Exited, s.w.now.Add(-s.w.set)
	u.Exit = contract.Exit{
		Code: s.num("code", 0), Signal: s.num("signal", 0), OOM: oom, Stopped: stopped,
		Server: s.has("without-mps"),
		Launch: contract.Step(s.text("launch")), Errno: s.num("errno", 0),
	}
	if s.text("peak") != "" {
		u.Used.PeakMemBytes = s.size("peak")
	}
	if quiet := s.has("quiet"); !quiet {
		s.feed(core.Changed{Job: s.id()})
	}
}

// changeGPU changes what the driver reports about a GPU: foreign=SIZE kind=WORD, ghost=SIZE,
// used=SIZE, grown=SIZE, dead=SIZE, orphan=JOB, processes=unknown, memory=node, health=lost, well=yes|no,
// rows=pending|failed|ok, mode=WORD, clean.
func (s *script) changeGPU() {
	g := &s.w.gpus[s.num("gpu", 0)]
	used := func(n int64, p ...gpu.Process) {
		g.MemUsedBytes, g.MemFreeBytes, g.Processes = uint64(n), g.MemTotalBytes-g.MemReservedBytes-uint64(n), p
	}
	switch {
	case s.text("foreign") != "":
		n := s.size("foreign")
		used(n, gpu.Process{PID: 99, Kind: s.text("kind"), UID: 1002, UsedBytes: n, Comm: "python"})
	case s.text("used") != "":
		used(s.size("used"), g.Processes...)
	case s.text("grown") != "":
		p := slices.Clone(g.Processes)
		p[0].UsedBytes = s.size("grown")
		used(p[0].UsedBytes, p...)
	case s.text("ghost") != "":
		used(s.size("ghost"))
	case s.text("dead") != "":
		used(s.size("dead"), gpu.Process{PID: 78, UsedBytes: s.size("dead"), Dead: true})
	case s.text("orphan") != "":
		used(gib, gpu.Process{PID: orphanPID, UsedBytes: gib, Unit: "gpujob-" + s.text("orphan") + ".service"})
	case s.text("processes") == "unknown":
		g.ProcessesUnknown, g.Processes = true, nil
	case s.text("memory") == "node":
		g.MemIsNode = true
	case s.text("mode") != "":
		g.ComputeMode = s.text("mode")
	case s.text("well") != "":
		g.Well = s.text("well") == "yes"
	case s.text("rows") != "":
		g.RowsPending, g.RowsFailed = s.text("rows") == "pending", s.text("rows") == "failed"
	case s.text("health") != "":
		g.Health = gpu.Health(s.text("health"))
	default:
		used(0)
	}
}

func (s *script) slices() {
	if s.w.pulled == nil {
		s.w.pulled = s.w.gpus
	}
	n := s.num("gpu", 0)
	card := s.w.pulled[n]
	s.w.gpus = slices.Delete(slices.Clone(s.w.pulled), n, n+1)
	types := strings.FieldsFunc(s.text("of"), func(r rune) bool { return r == ',' })
	if card.MIG = true; len(types) == 0 {
		s.w.gpus = slices.Insert(s.w.gpus, n, card)
	}
	for i, of := range types {
		g := card
		g.MIG, g.Index = false, len(s.w.pulled)+i
		g.UUID, g.Name = "MIG-"+of, card.Name+" MIG "+of
		g.Slice = gpu.Slice{Card: n, GPUInstance: i, Caps: [2]int{30 + 10*i, 31 + 10*i}}
		g.MemTotalBytes, g.MemFreeBytes, g.MemReservedBytes = 10*gib, 10*gib, 0
		g.UtilGPUPercent = -1
		s.w.gpus = append(s.w.gpus, g)
	}
	s.feed(s.w.sample(0))
}
