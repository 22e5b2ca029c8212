package units

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// ErrOrigin means that a unit was not made from a Spec.
var ErrOrigin = errors.New("the unit was not made by gpusched")

// Origin has those properties of a unit that suffice to recover the unit's Spec, as systemd reports
// them. If the state file is lost, nothing else is known about a running job.
type Origin struct {
	Description string
	User, Group string // numeric; Group "": the account's own group
	Slice       string
	Runtime     []string // runtime directories, relative
	LogFields   [][]byte
	SpecPath    string // last argument of the launcher

	MemoryMax, CPUQuota, TimeoutStop uint64 // Infinity: no limit
}

// OriginOf returns what systemd would report for a unit with these properties.
func OriginOf(props []Property) Origin {
	o := Origin{MemoryMax: Infinity, CPUQuota: Infinity, TimeoutStop: Infinity}
	texts := map[string]*string{"Description": &o.Description, "User": &o.User, "Group": &o.Group, "Slice": &o.Slice}
	numbers := map[string]*uint64{
		"MemoryMax": &o.MemoryMax, "CPUQuotaPerSecUSec": &o.CPUQuota, "TimeoutStopUSec": &o.TimeoutStop,
	}
	for _, p := range props {
		switch v := p.Value.(type) {
		case string:
			if to := texts[p.Name]; to != nil {
				*to = v
			}
		case uint64:
			if to := numbers[p.Name]; to != nil {
				*to = v
			}
		case []string:
			if p.Name == runtimeDirectory {
				o.Runtime = v
			}
		case [][]byte:
			if p.Name == "LogExtraFields" {
				o.LogFields = v
			}
		case []ExecCommand:
			if p.Name == "ExecStart" && len(v) == 1 && len(v[0].Args) > 0 {
				o.SpecPath = v[0].Args[len(v[0].Args)-1]
			}
		}
	}
	return o
}

// The journal fields that identify a job's unit.
const (
	jobField     = "GPUSCHED_JOB="
	attemptField = "GPUSCHED_ATTEMPT="
	// placedField is the time of the placement in microseconds since 1970. It distinguishes the
	// attempt from an attempt with the same job id and number in an older state file.
	placedField = "GPUSCHED_PLACED="
	gpuField    = "GPUSCHED_GPU="
	// limitField is the time limit in microseconds.
	limitField = "GPUSCHED_LIMIT="
	// taskField has "array_index" for a task of an array.
	taskField = "GPUSCHED_TASK="
	// holdsField has "index:minor:milli:promise" for each GPU, in their order.
	holdsField = "GPUSCHED_HOLDS="
)

func formatHolds(gpus []contract.GPU) string {
	var list []string
	for _, g := range gpus {
		list = append(list, fmt.Sprintf("%d:%d:%d:%d", g.Index, g.Minor, g.Milli, g.PromiseBytes))
	}
	return strings.Join(list, ",")
}

// Spec returns the Spec from which the named unit was made, without the parts that a running job no
// longer needs: launcher, spec file, resource limits, further devices, CPUs. The names of the job
// and the user are as the description shows them. The error is ErrOrigin for a unit that somebody
// else made.
func (o Origin) Spec(name string) (Spec, error) {
	id, ok := ParseName(name)
	if !ok {
		return Spec{}, fmt.Errorf("origin of unit %q: %w", name, ErrOrigin)
	}
	s := Spec{ID: id, Grace: duration(o.TimeoutStop)}
	if o.MemoryMax < math.MaxInt64 {
		s.Limits.MemBytes = int64(o.MemoryMax)
	}
	if o.CPUQuota != Infinity {
		s.Limits.CPUs = int(o.CPUQuota / 1_000_000)
	}
	if _, _, own := ParseJobSlice(o.Slice); own {
		s.Engine = contract.Docker
	} else if slices.ContainsFunc(o.Runtime, func(dir string) bool { return path.Dir(dir) == contract.ContainersDir }) {
		s.Engine = contract.Podman
	}
	err := errors.Join(s.readIdentity(o), s.readDescription(o.Description), s.readFields(o.LogFields))
	if err != nil {
		return Spec{}, fmt.Errorf("origin of unit %q: %w: %w", name, ErrOrigin, err)
	}
	return s, nil
}

// Attempt returns the attempt for which the named unit was made, if its job belongs to uid, and
// false for any other unit. Attempt reads fewer properties than Spec, since a drop-in of the site
// may replace a group or a description. If a drop-in has also removed the journal fields, Attempt
// takes the number from the path of the spec.
func (o Origin) Attempt(name string, uid int) (attempt int, ok bool) {
	id, ok := ParseName(name)
	if !ok || o.User != strconv.Itoa(uid) {
		return 0, false
	}
	named, told := o.field(jobField)
	number, _ := o.field(attemptField)
	if !told {
		named, number, _ = strings.Cut(path.Base(o.SpecPath), ".")
	}
	attempt, _ = strconv.Atoi(number)
	return attempt, named == strconv.FormatInt(id, 10) && attempt > 0
}

// field returns the value of the last journal field with this prefix.
func (o Origin) field(prefix string) (value string, there bool) {
	for _, f := range o.LogFields {
		if v, ok := strings.CutPrefix(string(f), prefix); ok {
			value, there = v, true
		}
	}
	return value, there
}

func duration(usec uint64) time.Duration {
	if usec > math.MaxInt64/1000 {
		return 0
	}
	return time.Duration(usec) * time.Microsecond
}

func (s *Spec) readIdentity(o Origin) (err error) {
	if s.UID, err = strconv.Atoi(o.User); err != nil || s.UID < 0 {
		return fmt.Errorf("its user is %q", o.User)
	}
	if o.Group == "" {
		return nil
	}
	if s.GID, err = strconv.Atoi(o.Group); err != nil || s.GID < 0 {
		return fmt.Errorf("its group is %q", o.Group)
	}
	return nil
}

// readDescription extracts the names from "gpusched job 7 (name) of alice on GPU 0,1". A job's name
// may contain anything, but a user's name contains no space.
func (s *Spec) readDescription(text string) error {
	rest, ours := strings.CutPrefix(text, fmt.Sprintf("gpusched job %d (", s.ID))
	at := strings.LastIndex(rest, ") of ")
	if !ours || at < 0 {
		return fmt.Errorf("its description is %q", text)
	}
	s.JobName = rest[:at]
	s.User, _, _ = strings.Cut(rest[at+len(") of "):], " ")
	return nil
}

func (s *Spec) readFields(fields [][]byte) error {
	named, holds := false, ""
	for _, f := range fields {
		text := string(f)
		if v, ok := strings.CutPrefix(text, jobField); ok {
			named = v == strconv.FormatInt(s.ID, 10)
		} else if v, ok := strings.CutPrefix(text, attemptField); ok {
			s.Attempt, _ = strconv.Atoi(v)
		} else if v, ok := strings.CutPrefix(text, placedField); ok {
			s.Placed = parsePlaced(v)
		} else if v, ok := strings.CutPrefix(text, limitField); ok {
			n, _ := strconv.ParseUint(v, 10, 64)
			s.TimeLimit = duration(n)
		} else if v, ok := strings.CutPrefix(text, taskField); ok {
			s.readTask(v)
		} else if v, ok := strings.CutPrefix(text, gpuField); ok {
			s.GPUs = append(s.GPUs, contract.GPU{Index: -1, UUID: v})
		} else if v, ok := strings.CutPrefix(text, holdsField); ok {
			holds = v
		}
	}
	if !named || s.Attempt < 1 {
		return errors.New("its journal fields name no attempt of that job")
	}
	return s.readHolds(holds)
}

func (s *Spec) readTask(text string) {
	array, index, _ := strings.Cut(text, "_")
	id, err := strconv.ParseInt(array, 10, 64)
	at, wrong := strconv.Atoi(index)
	if err == nil && wrong == nil {
		s.Array, s.Task = id, at
	}
}

func parsePlaced(text string) time.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(n)
}

func (s *Spec) readHolds(text string) error {
	if text == "" && len(s.GPUs) == 0 {
		return nil
	}
	list := strings.Split(text, ",")
	if len(list) != len(s.GPUs) {
		return fmt.Errorf("it names %d GPUs and holds %q", len(s.GPUs), text)
	}
	for i, hold := range list {
		g := &s.GPUs[i]
		if _, err := fmt.Sscanf(hold, "%d:%d:%d:%d", &g.Index, &g.Minor, &g.Milli, &g.PromiseBytes); err != nil ||
			g.Minor < 0 || g.Milli < 0 || g.PromiseBytes < 0 {
			return fmt.Errorf("it holds %q", text)
		}
	}
	return nil
}
