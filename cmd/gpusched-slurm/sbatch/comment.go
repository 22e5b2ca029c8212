package sbatch

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// CommentData is the data for which Slurm has no fields. It is stored in a job's comment: first the
// user's text, then the data that 'gpusched list' and 'show' read back, as in "second try
// [project=vision&.gpus=0.5]".
type CommentData struct {
	Comment  string
	Tags     map[string]string
	Log      string       // path of --log with Slurm's patterns; "" is Slurm's default file
	GPUMilli int          // 0 for whole GPUs, because Slurm itself records them
	GPUMem   int64        // in bytes
	Priority job.Priority // set only for a class without a QOS in Slurm
	Retries  int
	Mark     string // finds a submission whose answer was lost; not for people
}

// The keys that are not tags. A tag that begins with a dot is written with two dots.
const (
	keyLog      = ".log"
	keyGPUs     = ".gpus"
	keyMem      = ".gpu-mem"
	keyPriority = ".priority"
	keyRetries  = ".retries"
	keyMark     = ".mark"
)

// String returns the comment, or "" for no data.
func (s CommentData) String() string {
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
	put(keyLog, s.Log)
	put(keyMark, s.Mark)
	if s.GPUMilli > 0 {
		put(keyGPUs, job.FormatGPUs(s.GPUMilli))
	}
	if s.GPUMem > 0 {
		put(keyMem, strconv.FormatInt(s.GPUMem, 10)+"B")
	}
	if s.Priority != (job.Priority{}) {
		put(keyPriority, s.Priority.String())
	}
	if s.Retries > 0 {
		put(keyRetries, strconv.Itoa(s.Retries))
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

// ParseComment parses a comment. If the comment does not have the form that String produces, all of
// it is text. ParseComment ignores the space that scontrol adds.
func ParseComment(comment string) CommentData {
	comment = strings.TrimSuffix(comment, " ")
	at := strings.LastIndexByte(comment, '[')
	if at < 0 || !strings.HasSuffix(comment, "]") {
		return CommentData{Comment: comment}
	}
	s := CommentData{Comment: strings.TrimSuffix(comment[:at], " ")}
	for pair := range strings.SplitSeq(comment[at+1:len(comment)-1], "&") {
		name, value, _ := strings.Cut(pair, "=")
		s.set(unescape(name), unescape(value))
	}
	if s.String() != comment {
		return CommentData{Comment: comment}
	}
	return s
}

func unescape(s string) string {
	text, _ := url.QueryUnescape(s)
	return text
}

// set sets one field. It ignores values that cannot be parsed: ParseComment finds them when it
// compares the result with the comment.
func (s *CommentData) set(name, value string) {
	switch name {
	case "":
	case keyLog:
		s.Log = value
	case keyMark:
		s.Mark = value
	case keyGPUs:
		s.GPUMilli, _ = job.ParseGPUs(value)
	case keyMem:
		s.GPUMem, _ = job.ParseSize(value)
	case keyPriority:
		s.Priority, _ = job.ParsePriority(value)
	case keyRetries:
		s.Retries, _ = strconv.Atoi(value)
	default:
		if s.Tags == nil {
			s.Tags = map[string]string{}
		}
		s.Tags[strings.TrimPrefix(name, ".")] = value
	}
}

// commentData returns the data for the request's comment.
func (m *mapping) commentData() CommentData {
	s := CommentData{Comment: m.label.Comment, Tags: m.label.Tags}
	s.GPUMem, s.Retries = max(m.r.GPUMemBytes, 0), max(m.r.Retries, 0)
	if m.r.Part() > 0 {
		s.GPUMilli = m.r.GPUMilli
	}
	if p := m.r.Priority; p.Class != job.Normal && !m.site.allowsClass(p.Class) {
		s.Priority = p
	}
	s.Log, _ = m.logPath()
	s.Mark = m.mark
	return s
}
