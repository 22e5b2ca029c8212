package job

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// Sizes a submission may have. The kernel's own bounds are the model: one
// argument is at most 128 KiB, all of argv and environment at most 2 MiB.
const (
	MaxArgBytes     = 128<<10 - 1
	MaxPayloadBytes = 2 << 20
	MaxNameBytes    = 128
	MaxCommentBytes = 1024
	MaxTags         = 16
	MaxKeyBytes     = 64
	MaxCPUs         = 8192
	MaxRetries      = 100
	MaxBackoff      = time.Hour // also the longest that doubling leads to
)

// The years, in UTC, of moments that people name. JSON has none after 9999,
// and a moment that can't be written would stop the scheduler.
const minYear, maxYear = 1970, 2999

// Problems is every fault found in one submission or configuration.
type Problems []string

// Error joins the problems, one a line.
func (p Problems) Error() string { return strings.Join(p, "\n") }

// Err returns nil when there is no problem.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

func (p *Problems) addf(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// Validate reports everything that is wrong with the form of a submission, each
// kind of fault once. Whether this machine can ever run it is the scheduler's question.
func (s *Submission) Validate() error {
	var p Problems
	if len(s.Key) > MaxKeyBytes || !Printable(s.Key) {
		p.addf("the request key is not printable or longer than %d bytes", MaxKeyBytes)
	}
	s.Label.check(&p)
	s.Request.check(&p)
	s.Payload.check(&p)
	if s.Request.Array != nil && len(p) == 0 {
		s.Request.Array.checkExpansion(s.Payload.Argv, &p)
	}
	switch {
	case s.Grace == nil:
	case *s.Grace < 0:
		p.addf("the grace must not be negative (--grace)")
	case *s.Grace > Span(MaxDuration):
		p.addf("the grace is out of range: at most 10 years (--grace)")
	}
	return p.Err()
}

// Err reports everything that is wrong with the form of a request. (It is not called
// Validate, which the parser of the command line would call on half a request.)
func (r *Request) Err() error {
	var p Problems
	r.check(&p)
	return p.Err()
}

func (l *Label) check(p *Problems) {
	if l.Name == "" || len(l.Name) > MaxNameBytes || !Printable(l.Name) {
		p.addf("the job name must be 1 to %d bytes of printable text (--name)", MaxNameBytes)
	}
	if len(l.Comment) > MaxCommentBytes || !Printable(l.Comment) {
		p.addf("the comment must be printable and at most %d bytes (--comment)", MaxCommentBytes)
	}
	if len(l.Tags) > MaxTags {
		p.addf("%d tags are too many: at most %d (--tag)", len(l.Tags), MaxTags)
	}
	for k, v := range l.Tags {
		if k == "" || len(k)+len(v) > MaxNameBytes || !Printable(k) || !Printable(v) {
			p.addf("a tag must be KEY=VALUE, printable and at most %d bytes (--tag)", MaxNameBytes)
			break
		}
	}
}

func (r *Request) check(p *Problems) {
	switch {
	case r.GPUMilli < 0 || r.GPUMilli > MaxGPUs*WholeGPU || r.GPUMilli%10 != 0:
		p.addf("the amount of GPUs is out of range: use 0 to %d (--gpus)", MaxGPUs)
	case len(r.GPUIDs) > 0 && r.Devices() != len(r.GPUIDs):
		p.addf("--gpu-ids names %d GPUs but --gpus asks %s: leave --gpus out", len(r.GPUIDs), FormatGPUs(r.GPUMilli))
	case len(r.GPUsFrom) > 0 && r.GPUMilli > len(r.GPUsFrom)*WholeGPU:
		p.addf("--gpus-from names %d GPUs but --gpus asks %s", len(r.GPUsFrom), FormatGPUs(r.GPUMilli))
	}
	if len(r.GPUIDs) > 0 && len(r.GPUsFrom) > 0 {
		p.addf("--gpu-ids and --gpus-from exclude each other: exact GPUs, or a set to choose from")
	}
	if len(r.GPUIDs) > 0 && len(r.ExcludeGPUs) > 0 {
		p.addf("--gpu-ids and --exclude-gpus exclude each other: exact GPUs, or any but some")
	}
	if !ascending(r.GPUIDs) || !ascending(r.GPUsFrom) || !ascending(r.ExcludeGPUs) {
		p.addf("GPU indexes must be listed once each, in order, below %d", MaxGPUs)
	}
	if r.GPUMilli == 0 && (r.GPUMemBytes > 0 || r.GPUType != "" || len(r.GPUsFrom)+len(r.ExcludeGPUs) > 0) {
		p.addf("a job with --gpus 0 has no use for --gpu-mem, --gpu-type, --gpus-from or --exclude-gpus")
	}
	if len(r.GPUType) > MaxNameBytes || !Printable(r.GPUType) {
		p.addf("the GPU type must be a short printable text such as a100 (--gpu-type)")
	}
	if r.GPUMemBytes < 0 || r.GPUMemBytes > MaxSize || r.MemBytes < 0 || r.MemBytes > MaxSize {
		p.addf("a memory size is out of range: at most 1024T (--mem, --gpu-mem)")
	}
	if r.CPUs < 0 || r.CPUs > MaxCPUs {
		p.addf("the number of CPUs is out of range: use 1 to %d (--cpus)", MaxCPUs)
	}
	if r.TimeLimit < 0 || r.TimeLimit > Span(MaxDuration) || r.Grace < 0 || r.Grace > Span(MaxDuration) {
		p.addf("a duration is out of range: at most 10 years (--time, --grace)")
	}
	if r.MaxLoadPercent < 0 || r.MaxLoadPercent > 100 || r.MaxUsedPercent < 0 || r.MaxUsedPercent > 100 {
		p.addf("a threshold is out of range: use 1 to 100 percent (--max-load, --max-used)")
	}
	r.checkLife(p)
	if n := r.Priority; n.Class < Scavenger || n.Class > Interactive || n.Class != Normal && n.Number != 0 ||
		n.Number < -maxPriority || n.Number > maxPriority {
		p.addf("the priority is out of range: use -%d to %d or a class (--priority)", maxPriority, maxPriority)
	}
	if r.GPUVisible != "" && r.GPUVisible != "uuid" {
		p.addf("GPUs can be named by index or uuid, not by %q (--gpu-visible)", r.GPUVisible)
	}
}

// checkLife looks at what concerns the job's life rather than its place.
func (r *Request) checkLife(p *Problems) {
	if r.OnTimeout != "" && r.OnTimeout != TimeoutKill && r.OnTimeout != TimeoutRequeue {
		p.addf("at its time limit a job can be given kill or requeue, not %q (--on-timeout)", string(r.OnTimeout))
	}
	if r.WarnSignal < 0 || r.WarnSignal > contract.MaxSignal || r.WarnBefore < 0 || r.WarnBefore > Span(MaxDuration) || (r.WarnSignal > 0) != (r.WarnBefore > 0) {
		p.addf("a warning needs a signal and a time before the limit, such as USR1@60s (--signal)")
	}
	if r.WarnBefore > 0 && r.TimeLimit > 0 && r.WarnBefore >= r.TimeLimit {
		p.addf("the warning comes %s before the limit, which is %s: use a shorter time (--signal)", r.WarnBefore, r.TimeLimit)
	}
	if r.Retries < 0 || r.Retries > MaxRetries || r.Backoff < 0 || r.Backoff > Span(MaxBackoff) {
		p.addf("retries are 0 to %d, the back-off at most %s (--retries, --backoff)", MaxRetries, FormatDuration(MaxBackoff))
	}
	for _, hash := range []string{r.Dedup, r.Shape, r.Script} {
		if len(hash) > MaxKeyBytes || !Printable(hash) {
			p.addf("a hash is not printable or longer than %d bytes", MaxKeyBytes)
			break
		}
	}
	if y := r.Begin.UTC().Year(); !r.Begin.IsZero() && (y < minYear || y > maxYear) {
		p.addf("the time to begin is out of range: years %d to %d (--begin)", minYear, maxYear)
	}
	checkDependencies(r.After, p)
	if r.Array != nil {
		r.Array.check(p)
		if r.Dedup != "" {
			p.addf("an array is not looked for among earlier jobs: leave --dedup out")
		}
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
		p.addf("there is no command to run: 'gpusched submit -- python train.py'")
	}
	for _, kv := range y.Env {
		if i := strings.IndexByte(kv, '='); i <= 0 {
			p.addf("an environment entry is not NAME=VALUE")
			break
		}
	}
	if !filepath.IsAbs(y.Dir) || len(y.Dir) > 4096 || strings.IndexByte(y.Dir, 0) >= 0 {
		p.addf("the working directory must be an absolute path of at most 4096 bytes (--chdir)")
	}
	if y.Umask < 0 || y.Umask > 0o777 {
		p.addf("the umask is not a file mode mask")
	}
	switch y.EnvMode {
	case EnvInherit, EnvClean, EnvLogin:
	default:
		p.addf("the environment mode must be inherit, clean or login (--env)")
	}
}

// checkBytes reports each kind of fault once: a hostile submission has room for
// a million of them.
func (y *Payload) checkBytes(p *Problems) {
	total, longest, nul := 0, 0, false
	for _, list := range [][]string{y.Argv, y.Env} {
		for _, s := range list {
			total += len(s) + 1
			longest = max(longest, len(s))
			nul = nul || strings.IndexByte(s, 0) >= 0
		}
	}
	if longest > MaxArgBytes {
		p.addf("an argument or variable has %d bytes: Linux passes at most %d in one (put it in a file)", longest, MaxArgBytes)
	}
	if nul {
		p.addf("an argument or variable contains a NUL byte, which no program can receive")
	}
	if total > MaxPayloadBytes {
		p.addf("the command and environment have %d bytes: at most %d (use --env clean, or put data in a file)", total, MaxPayloadBytes)
	}
}
