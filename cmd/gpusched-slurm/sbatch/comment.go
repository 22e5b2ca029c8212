package sbatch

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// Said is what of a request Slurm has no field for. Its comment holds it: the text for
// people, and then, where there is more, what 'gpusched list' and 'show' read back, as in
// "second try [project=vision&.gpus=0.5]".
type Said struct {
	Comment  string
	Tags     map[string]string
	Log      string       // the path of --log, with Slurm's own sequences; "" is Slurm's own file
	GPUMilli int          // 0 where the GPUs are whole ones, which Slurm knows
	GPUMem   int64        // bytes
	Priority job.Priority // a class that is not Slurm's, or none
	Retries  int
	Mark     string // what the submission is found by where its answer was lost; it is for nobody to read
}

// The names of what is no tag. A tag's name may begin with a dot, too: it is written with
// another one before it.
const (
	saidLog      = ".log"
	saidGPUs     = ".gpus"
	saidMem      = ".gpu-mem"
	saidPriority = ".priority"
	saidRetries  = ".retries"
	saidMark     = ".mark"
)

// String is the comment; "" is none.
func (s Said) String() string {
	v := url.Values{}
	put := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	for k, value := range s.Tags {
		if strings.HasPrefix(k, ".") {
			k = "." + k
		}
		v.Set(k, value)
	}
	put(saidLog, s.Log)
	put(saidMark, s.Mark)
	if s.GPUMilli > 0 {
		put(saidGPUs, job.FormatGPUs(s.GPUMilli))
	}
	if s.GPUMem > 0 {
		put(saidMem, strconv.FormatInt(s.GPUMem, 10)+"B")
	}
	if s.Priority != (job.Priority{}) {
		put(saidPriority, s.Priority.String())
	}
	if s.Retries > 0 {
		put(saidRetries, strconv.Itoa(s.Retries))
	}
	if len(v) == 0 && !strings.HasSuffix(s.Comment, "]") {
		return s.Comment
	}
	text := "[" + v.Encode() + "]"
	if s.Comment != "" {
		text = s.Comment + " " + text
	}
	return text
}

// ParseSaid reads a comment. One that is not as String writes it is text alone.
// Scontrol writes a space behind it.
func ParseSaid(comment string) Said {
	comment = strings.TrimSuffix(comment, " ")
	at := strings.LastIndexByte(comment, '[')
	if at < 0 || !strings.HasSuffix(comment, "]") {
		return Said{Comment: comment}
	}
	s := Said{Comment: strings.TrimSuffix(comment[:at], " ")}
	for pair := range strings.SplitSeq(comment[at+1:len(comment)-1], "&") {
		name, value, _ := strings.Cut(pair, "=")
		s.take(unescape(name), unescape(value))
	}
	if s.String() != comment {
		return Said{Comment: comment}
	}
	return s
}

func unescape(s string) string {
	text, _ := url.QueryUnescape(s)
	return text
}

// take puts one value in its place. What is none is found by what is made of it.
func (s *Said) take(name, value string) {
	switch name {
	case "":
	case saidLog:
		s.Log = value
	case saidMark:
		s.Mark = value
	case saidGPUs:
		s.GPUMilli, _ = job.ParseGPUs(value)
	case saidMem:
		s.GPUMem, _ = job.ParseSize(value)
	case saidPriority:
		s.Priority, _ = job.ParsePriority(value)
	case saidRetries:
		s.Retries, _ = strconv.Atoi(value)
	default:
		if s.Tags == nil {
			s.Tags = map[string]string{}
		}
		s.Tags[strings.TrimPrefix(name, ".")] = value
	}
}

// said is what the comment of the request's job holds.
func (m *mapping) said() Said {
	s := Said{Comment: m.label.Comment, Tags: m.label.Tags, GPUMem: max(m.r.GPUMemBytes, 0), Retries: max(m.r.Retries, 0)}
	if m.r.Part() > 0 {
		s.GPUMilli = m.r.GPUMilli
	}
	if p := m.r.Priority; p.Class != job.Normal && !m.site.has(p.Class) {
		s.Priority = p
	}
	s.Log, _ = m.logPath()
	s.Mark = m.mark
	return s
}
