package job

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// These bounds of a submission follow the kernel's: one argument is at most 128 KiB long, and argv
// and environment together have at most 2 MiB.
const (
	MaxArgBytes     = 128<<10 - 1
	MaxPayloadBytes = 2 << 20
	MaxNameBytes    = 128
	MaxCommentBytes = 1024
	MaxTags         = 16
	MaxKeyBytes     = 64
	MaxCPUs         = 8192
	MaxRetries      = 100
	MaxBackoff      = time.Hour // also the bound when retries double it
)

// minYear and maxYear bound the year, in UTC, of a moment that a user names. JSON can't encode
// years after 9999, and a moment that can't be encoded would stop the scheduler.
const minYear, maxYear = 1970, 2999

// Validate reports all faults in the form of a submission, each kind once. It does not check
// whether this machine can ever run the job: the scheduler does.
func (s *Submission) Validate() error {
	var p Problems
	if len(s.Key) > MaxKeyBytes || !Printable(s.Key) {
		p.add("usage/key", MaxKeyBytes)
	}
	s.Label.check(&p)
	s.Request.check(&p)
	s.Payload.check(&p)
	if s.Payload.Setup.CUDAArg && s.Request.GPUMilli == 0 {
		p.add("usage/cuda-arg")
	}
	checkLog(&s.Payload.Log, s.Request.Array, &p)
	if s.Request.SignalTo == SignalMain && s.Payload.Log.Path != "" {
		p.add("usage/signal-to-log") // systemd ends the process that copies the output at the same time as the main process
	}
	if s.Request.MPS && !s.Payload.Container.IsZero() {
		p.add("usage/mps-image")
	}
	s.checkNotify(&p)
	if s.Request.Array != nil && len(p) == 0 {
		s.Request.Array.checkExpansion(s.Payload.Argv, &p)
	}
	return p.Err()
}

// Err reports all faults in the form of a request. (If it were called Validate, the parser of the
// command line would call it on an incomplete request.)
func (r *Request) Err() error {
	var p Problems
	r.check(&p)
	return p.Err()
}

func (l *Label) check(p *Problems) {
	if l.Name == "" || len(l.Name) > MaxNameBytes || !Printable(l.Name) {
		p.add("usage/name", MaxNameBytes)
	}
	if len(l.Comment) > MaxCommentBytes || !Printable(l.Comment) {
		p.add("usage/comment", MaxCommentBytes)
	}
	if len(l.Tags) > MaxTags {
		p.add("usage/tags", len(l.Tags), MaxTags)
	}
	for k, v := range l.Tags {
		if k == "" || len(k)+len(v) > MaxNameBytes || !Printable(k) || !Printable(v) {
			p.add("usage/tag", MaxNameBytes)
			break
		}
	}
}

func (r *Request) check(p *Problems) {
	switch {
	case r.GPUMilli < 0 || r.GPUMilli > MaxGPUs*WholeGPU || r.GPUMilli%10 != 0:
		p.add("usage/gpus", MaxGPUs)
	case len(r.GPUIDs) > 0 && r.Devices() != len(r.GPUIDs):
		p.add("usage/gpu-ids-count", len(r.GPUIDs), GPUs(r.GPUMilli))
	case len(r.GPUsFrom) > 0 && r.GPUMilli > len(r.GPUsFrom)*WholeGPU:
		p.add("usage/gpus-from-count", len(r.GPUsFrom), GPUs(r.GPUMilli))
	}
	if len(r.GPUIDs) > 0 && len(r.GPUsFrom) > 0 {
		p.add("usage/ids-and-from")
	}
	if len(r.GPUIDs) > 0 && len(r.ExcludeGPUs) > 0 {
		p.add("usage/ids-and-exclude")
	}
	if !ascending(r.GPUIDs) || !ascending(r.GPUsFrom) || !ascending(r.ExcludeGPUs) {
		p.add("usage/gpu-list", MaxGPUs)
	}
	if r.GPUMilli == 0 && (r.GPUMemBytes != 0 || r.GPUType != "" || len(r.GPUsFrom)+len(r.ExcludeGPUs) > 0) {
		p.add("usage/no-gpus")
	}
	switch {
	case r.MPS && (r.Whole() > 0 || r.Part() == 0):
		p.add("usage/mps")
	case r.MPSFair && !r.MPS:
		p.add("usage/mps-fair")
	}
	if len(r.GPUType) > MaxNameBytes || !Printable(r.GPUType) {
		p.add("usage/gpu-type")
	}
	if r.GPUMemBytes < AutoGPUMem || r.GPUMemBytes > MaxSize || r.MemBytes < 0 || r.MemBytes > MaxSize {
		p.add("usage/size")
	}
	if r.CPUs < 0 || r.CPUs > MaxCPUs {
		p.add("usage/cpus", MaxCPUs)
	}
	if r.TimeLimit < 0 || r.TimeLimit > Span(MaxDuration) {
		p.add("usage/duration")
	}
	switch grace := r.GraceTime(); {
	case grace < 0:
		p.add("usage/grace-negative")
	case grace > Span(MaxDuration):
		p.add("usage/grace")
	}
	if r.MaxLoadPercent < 0 || r.MaxLoadPercent > 100 || r.MaxUsedPercent < 0 || r.MaxUsedPercent > 100 {
		p.add("usage/threshold")
	}
	r.checkLife(p)
	if n := r.Priority; n.Class < Scavenger || n.Class > Interactive || n.Class != Normal && n.Number != 0 ||
		n.Number < -maxPriority || n.Number > maxPriority {
		p.add("usage/priority", maxPriority)
	}
	if r.GPUVisible != "" && r.GPUVisible != "uuid" {
		p.add("usage/gpu-visible", r.GPUVisible)
	}
}

// checkLife checks the options about how a job starts, ends and is retried, but not those about its
// place.
func (r *Request) checkLife(p *Problems) {
	if r.OnTimeout != "" && r.OnTimeout != TimeoutKill && r.OnTimeout != TimeoutRequeue {
		p.add("usage/on-timeout", r.OnTimeout)
	}
	signal, before := r.WarnSignal, r.WarnBefore
	inRange := signal >= 0 && signal <= contract.MaxSignal && before >= 0 && before <= Span(MaxDuration)
	if !inRange || (signal > 0) != (before > 0) || r.WarnMain && signal == 0 {
		p.add("usage/warning")
	}
	if r.WarnBefore > 0 && r.TimeLimit > 0 && r.WarnBefore >= r.TimeLimit {
		p.add("usage/warning-early", r.WarnBefore, r.TimeLimit)
	}
	if r.SignalTo != "" && r.SignalTo != "all" && r.SignalTo != SignalMain {
		p.add("usage/signal-to", r.SignalTo)
	}
	if r.Retries < NoRetries || r.Retries > MaxRetries || r.Backoff < 0 || r.Backoff > Span(MaxBackoff) {
		p.add("usage/retries", MaxRetries, MaxBackoff)
	}
	for _, hash := range []string{r.Dedup, r.Shape, r.Script} {
		if len(hash) > MaxKeyBytes || !Printable(hash) {
			p.add("usage/hash", MaxKeyBytes)
			break
		}
	}
	if y := r.Begin.UTC().Year(); !r.Begin.IsZero() && (y < minYear || y > maxYear) {
		p.add("usage/begin", minYear, maxYear)
	}
	checkDependencies(r.After, p)
	r.checkBatch(p)
	r.Lane.check(p)
	switch {
	case r.MaxFailures < 0 || r.MaxFailures > MaxTasks:
		p.add("usage/failures", MaxTasks)
	case r.MaxFailures > 0 && r.Array == nil:
		p.add("usage/failures-alone")
	}
	if r.Array != nil {
		r.Array.check(p)
		if r.Dedup != "" {
			p.add("usage/array-dedup")
		}
	}
}

// checkBatch checks the options about a job's place among the jobs of its owner.
func (r *Request) checkBatch(p *Problems) {
	switch {
	case r.Objective != "" && r.Objective != Makespan:
		p.add("usage/objective", r.Objective)
	case r.Objective == "" && r.Batch != "":
		p.add("usage/batch-alone")
	case r.Objective != "" && r.Batch == "" && r.Array == nil:
		p.add("usage/objective-alone")
	}
	if len(r.Batch) > MaxNameBytes || !Printable(r.Batch) {
		p.add("usage/batch", MaxNameBytes)
	}
}

func ascending(list []int) bool {
	for i, n := range list {
		if n < 0 || n >= MaxGPUs || (i > 0 && n <= list[i-1]) {
			return false
		}
	}
	return true
}

func (y *Payload) check(p *Problems) {
	y.checkBytes(p)
	if len(y.Argv) == 0 || y.Argv[0] == "" {
		p.add("usage/no-command")
	}
	for _, kv := range y.Env {
		if i := strings.IndexByte(kv, '='); i <= 0 {
			p.add("usage/env-entry")
			break
		}
	}
	if !filepath.IsAbs(y.Dir) || len(y.Dir) > 4096 || strings.IndexByte(y.Dir, 0) >= 0 {
		p.add("usage/chdir")
	}
	if y.Umask < 0 || y.Umask > 0o777 {
		p.add("usage/umask")
	}
	switch y.EnvMode {
	case contract.EnvInherit, contract.EnvClean, contract.EnvLogin:
	default:
		p.add("usage/env-mode")
	}
	checkSetup(&y.Setup, p)
	y.checkContainer(p)
	if !y.Snapshot.IsZero() && !isSnapshot(&y.Snapshot) {
		p.add("usage/snapshot")
	}
}

// isSnapshot reports whether a snapshot has the form that clients give it. Its directory will be
// removed, so it must not be the name of another one by mistake.
func isSnapshot(s *contract.Snapshot) bool {
	isHash := func(text string) bool { return len(text) <= 64 && strings.Trim(text, "0123456789abcdef") == "" }
	isPath := func(path string) bool {
		return filepath.IsAbs(path) && filepath.Clean(path) == path && len(path) <= 4096 && strings.IndexByte(path, 0) < 0
	}
	return isPath(s.Dir) && contract.IsSnapshot(s.Dir) && isPath(s.Source) &&
		isHash(s.Commit) && isHash(s.Diff) && s.Changed >= 0
}

// These are the bounds of a set-up. Its command is passed in an environment variable.
const (
	maxSetupBytes = 120 << 10
	maxModules    = 64
)

// checkSetup checks the form of a job's set-up, which runs before the command. Only the job's user
// can find out whether the environments exist.
func checkSetup(s *contract.Setup, p *Problems) {
	if len(s.Command) > maxSetupBytes || strings.IndexByte(s.Command, 0) >= 0 {
		p.add("usage/setup", maxSetupBytes)
	}
	for _, dir := range []string{s.Conda, s.Venv} {
		if dir != "" && (!filepath.IsAbs(dir) || len(dir) > 4096 || strings.ContainsAny(dir, "\x00:")) {
			p.add("usage/setup-path")
			break
		}
	}
	if s.Compat != "" && s.Compat != contract.CompatSlurm {
		p.add("usage/compat")
	}
	for _, name := range s.Modules {
		if name == "" || len(name) > MaxNameBytes || !Printable(name) || name[0] == '-' || len(s.Modules) > maxModules {
			p.add("usage/modules", maxModules, MaxNameBytes)
			break
		}
	}
}

// checkBytes reports each kind of fault only once, because a hostile submission could have a
// million faults.
func (y *Payload) checkBytes(p *Problems) {
	total, longest, nul := 0, 0, false
	for _, list := range [][]string{y.Argv, y.Env, y.Container.Args} {
		for _, s := range list {
			total += len(s) + 1
			longest = max(longest, len(s))
			nul = nul || strings.IndexByte(s, 0) >= 0
		}
	}
	if longest > MaxArgBytes {
		p.add("usage/arg-bytes", longest, MaxArgBytes)
	}
	if nul {
		p.add("usage/arg-nul")
	}
	if total > MaxPayloadBytes {
		p.add("usage/payload-bytes", total, MaxPayloadBytes)
	}
}
