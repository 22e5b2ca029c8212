package slurm

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// readTime reads Slurm's time limit. A bare number is in minutes.
func (b *Batch) readTime(_, value string) error {
	switch strings.ToLower(value) {
	case "0", "unlimited", "infinite":
		b.drop("time")
		b.note("--time=%s sets no limit: the site's limit holds", value)
		return nil
	}
	d, err := Minutes(value)
	if err != nil {
		return err
	}
	return b.set("time", strconv.FormatInt(int64(d/time.Second), 10)+"s")
}

// Minutes parses minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes
// and days-hours:minutes:seconds.
func Minutes(s string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a time as Slurm writes it: use minutes, hours:minutes:seconds or days-hours", s)
	days, clock, hasDays := strings.Cut(s, "-")
	units := []time.Duration{time.Minute, time.Second}
	total := time.Duration(0)
	if hasDays {
		n, err := strconv.ParseUint(days, 10, 12)
		if err != nil {
			return 0, bad
		}
		total, units = time.Duration(n)*24*time.Hour, []time.Duration{time.Hour, time.Minute, time.Second}
	} else {
		clock = s
	}
	parts := strings.Split(clock, ":")
	if len(parts) == 3 {
		units = []time.Duration{time.Hour, time.Minute, time.Second}
	}
	if len(parts) > len(units) {
		return 0, bad
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 20)
		if err != nil {
			return 0, bad
		}
		total += time.Duration(n) * units[i]
	}
	if total <= 0 {
		return 0, bad
	}
	return total, nil
}

// Span formats a duration for Slurm as days-hours:minutes:seconds, rounded up to seconds. Slurm
// then rounds it up to minutes.
func Span(d time.Duration) string {
	d = (d + time.Second - 1).Truncate(time.Second)
	days := d / (24 * time.Hour)
	d -= days * 24 * time.Hour
	return fmt.Sprintf("%d-%02d:%02d:%02d", days, d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
}

// Moment formats a time in a form that Slurm reads the same in every time zone.
func Moment(at time.Time) string { return "uts" + strconv.FormatInt(at.Unix(), 10) }

// gres reads gpu, gpu:2 and gpu:a100:2. It refuses resources other than gpu.
func (b *Batch) gres(name, value string) error {
	for item := range strings.SplitSeq(value, ",") {
		rest, ok := strings.CutPrefix(strings.TrimPrefix(item, "gres:"), "gpu")
		ok = ok && (rest == "" || rest[0] == ':')
		if !ok && b.ForSlurm {
			b.addNative(name, value)
			return nil
		}
		switch kind, _, _ := strings.Cut(item, ":"); {
		case ok:
		case kind == "none":
			rest = "0"
		case kind == "shard" || kind == "mps":
			return fmt.Errorf("%q is not known here: 'gpusched submit -g 0.5' asks for a part of a GPU", item)
		default:
			return fmt.Errorf("%q is not known here: only gpu is", item)
		}
		if err := b.gpuCount(name, strings.TrimPrefix(rest, ":")); err != nil {
			return err
		}
	}
	return nil
}

// gpuCount reads 2 and a100:2. For --gres it also reads a type without a number.
func (b *Batch) gpuCount(name, value string) error {
	value, _, _ = strings.Cut(value, "(") // removes the sockets, as in gpu:2(S:0)
	kind, number, both := strings.Cut(value, ":")
	if !both {
		kind, number = "", value
		if n := strings.TrimLeft(value, "0123456789"); name == "--gres" && (value == "" || n == value) {
			kind, number = value, "1"
		}
	}
	n, err := strconv.ParseUint(number, 10, 10)
	if err != nil || strings.Contains(kind, ":") {
		return fmt.Errorf("%q is not a number of GPUs: use 2 or a100:2", value)
	}
	b.gpus, b.gpusSet, b.gpuType = int(n), true, kind
	return nil
}

// readConstraint reads a feature of the node. The only features here are the types of its GPUs.
func (b *Batch) readConstraint(name, value string) error {
	if b.ForSlurm {
		b.addNative(name, value)
		return nil
	}
	if strings.ContainsAny(value, "&|*[](),!") {
		return fmt.Errorf("%q is not known here: the only feature is one type of GPU, such as a100", value)
	}
	b.constraint = value
	return nil
}

// perTask reads the number of GPUs for each task.
func (b *Batch) perTask(name, value string) error {
	old := *b
	err := b.gpuCount(name, value)
	n := b.gpus
	b.gpus, b.gpusSet = old.gpus, old.gpusSet
	b.gpusPerTask = n
	return err
}

// readMem reads a size in Slurm's form. A bare number is in MiB.
func (b *Batch) readMem(name, value string) error {
	bytes, err := Mebibytes(value)
	if err != nil {
		return err
	}
	b.memPerGPU, b.memPerCPU = 0, 0
	b.drop("mem")
	switch {
	case name == "--mem-per-gpu":
		b.memPerGPU = bytes
	case name == "--mem-per-cpu":
		b.memPerCPU = bytes
	case bytes == 0 && b.ForSlurm:
		b.addNative(name, "0")
	case bytes == 0:
		b.note("--mem=0 does not ask for all the machine's memory here: the site's default holds")
	default:
		b.words = append(b.words, memory(bytes))
	}
	return nil
}

// Mebibytes parses sizes such as 8000, 8000M and 64G. The result is in bytes.
func Mebibytes(s string) (int64, error) {
	bad := fmt.Errorf("%q is not a size as Slurm writes it: use a number of MB, or one with K, M, G or T", s)
	number := strings.TrimSuffix(strings.TrimSuffix(s, "B"), "b")
	scale := int64(1 << 20)
	if i := len(number) - 1; i > 0 {
		if unit := strings.IndexByte("KMGT", number[i]&^0x20); unit >= 0 {
			scale, number = 1<<(10*(unit+1)), number[:i]
		} else if number != s {
			return 0, bad
		}
	}
	n, err := strconv.ParseUint(number, 10, 40)
	if err != nil || int64(n) > math.MaxInt64/scale/1024/1024 {
		return 0, bad
	}
	return int64(n) * scale, nil
}

// Megabytes formats an amount of memory in Slurm's unit, rounded up.
func Megabytes(bytes int64) string { return strconv.FormatInt((bytes+1<<20-1)>>20, 10) }

func (b *Batch) cpuCount(name, value string) error {
	n, err := strconv.ParseUint(value, 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("%q is not a number of CPUs", value)
	}
	if name == "--cpus-per-gpu" {
		b.cpusPerGPU = int(n)
		return nil
	}
	b.cpus = int(n)
	return nil
}

// taskCount reads the number of tasks. All tasks run on one machine. Slurm's default is one task.
func (b *Batch) taskCount(name, value string) error {
	n, err := strconv.ParseUint(value, 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("%q is not a number of tasks", value)
	}
	if b.ForSlurm && n > 1 {
		b.addNative(name, value)
	}
	if b.tasks == nil {
		b.tasks = map[string]int{}
	}
	b.tasks[cmp.Or(map[string]string{"-n": "--ntasks", "--tasks-per-node": "--ntasks-per-node"}[name], name)] = int(n)
	return nil
}

// dependencyKinds maps Slurm's kinds of dependencies to gpusched's, which are named like its
// options.
var dependencyKinds = map[string]job.DependencyKind{
	"after": job.AfterStart, "afterok": job.AfterOK, "afternotok": job.AfterFail, "afterany": job.AfterAny,
}

// DependencyKind translates a word such as afterok. It returns "" if gpusched has no such kind.
func DependencyKind(word string) job.DependencyKind { return dependencyKinds[word] }

// Dependencies formats the jobs that a job waits for: "afterok:7:8,afterany:9".
func Dependencies(list []job.Dependency) string {
	words := map[job.DependencyKind]string{}
	for word, kind := range dependencyKinds {
		words[kind] = word
	}
	var b strings.Builder
	last := job.DependencyKind("")
	for _, d := range list {
		switch {
		case d.Kind == last:
		case b.Len() > 0:
			b.WriteByte(',')
			fallthrough
		default:
			b.WriteString(words[d.Kind])
		}
		last = d.Kind
		fmt.Fprintf(&b, ":%d", d.Job)
	}
	return b.String()
}

func (b *Batch) dependency(_, value string) error {
	b.drop("after", "after-ok", "after-fail", "after-any")
	if b.ForSlurm && foreignDependency(value) {
		b.addNative("--dependency", value)
		return nil
	}
	if strings.Contains(value, "?") {
		return errors.New(`"?" (any one of several) is not known here: a job waits for all its dependencies`)
	}
	for item := range strings.SplitSeq(value, ",") {
		kind, ids, _ := strings.Cut(item, ":")
		if item == "singleton" {
			b.words = append(b.words, "--after-any="+Singleton)
			continue
		}
		ours, known := dependencyKinds[kind]
		if !known || ids == "" {
			return fmt.Errorf("%q is not known here: use after, afterok, afternotok or afterany with numbers, such as afterok:7:8", item)
		}
		if strings.Contains(ids, "+") {
			return fmt.Errorf("%q has a delay, which is not known here", item)
		}
		for id := range strings.SplitSeq(ids, ":") { // one by one, since 7_1,8 means 7_1 and 7_8
			b.words = append(b.words, "--"+string(ours)+"="+id)
		}
	}
	return nil
}

// Singleton is a value of --after-any. It means all jobs of the same user with the same name.
const Singleton = "singleton"

// foreignDependency reports whether gpusched does not support some part of the value.
func foreignDependency(value string) bool {
	for item := range strings.SplitSeq(value, ",") {
		kind, ids, _ := strings.Cut(item, ":")
		if dependencyKinds[kind] == "" || strings.Trim(ids, ":0123456789") != "" {
			return true
		}
	}
	return false
}

// TimesOfDay are Slurm's names for times of day.
var TimesOfDay = map[string]string{"midnight": "0:00", "noon": "12:00", "fika": "15:00", "teatime": "16:00"}

// readBegin reads now+1hour, tomorrow, noon, and all forms that gpusched also accepts.
func (b *Batch) readBegin(_, value string) error {
	at := strings.ToLower(value)
	after, relative := strings.CutPrefix(at, "now+")
	switch {
	case relative:
		d, err := span(after)
		if err != nil {
			return err
		}
		return b.set("begin", "+"+strconv.FormatInt(int64(d/time.Second), 10)+"s")
	case at == "now":
		b.drop("begin")
		return nil
	case TimesOfDay[at] != "":
		return b.set("begin", TimesOfDay[at])
	case at == "today" || at == "tomorrow":
		return b.set("begin", at)
	}
	for _, layout := range []string{"010206", "01/02/06"} {
		if day, err := time.Parse(layout, value); err == nil {
			return b.set("begin", day.Format(time.DateOnly))
		}
	}
	return b.set("begin", value)
}

// span parses a number of minutes, hours, days or weeks. A bare number is in seconds.
func span(s string) (time.Duration, error) {
	number := s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
	n, err := strconv.ParseUint(number, 10, 20)
	unit := map[string]time.Duration{
		"": time.Second, "second": time.Second, "minute": time.Minute, "hour": time.Hour,
		"day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
	}[strings.TrimSuffix(s[len(number):], "s")]
	if err != nil || unit == 0 || n == 0 || time.Duration(n) > job.MaxDuration/unit {
		return 0, fmt.Errorf("%q is not a time from now within 10 years: use now+1hour and the like", s)
	}
	return time.Duration(n) * unit, nil
}

func (b *Batch) requeue(name, _ string) error {
	b.drop("requeue", "no-requeue")
	b.words = append(b.words, name)
	return nil
}

// readSignal reads a value such as B:USR1@120. The default time is 60 seconds.
func (b *Batch) readSignal(_, value string) error {
	to, rest, aimed := strings.Cut(value, ":")
	if !aimed {
		to, rest = "", value
	}
	sig, before, timed := strings.Cut(rest, "@")
	if strings.ContainsAny(to, "Bb") { // with B, only to the shell; without B, to all processes
		sig = "main:" + sig
	}
	if !timed {
		before = "60"
	}
	if n, err := strconv.ParseUint(before, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q is not a number of seconds before the limit", before)
	}
	return b.set("signal", sig+"@"+before+"s")
}

// readNice reads the amount by which the priority is lowered. The default is 100.
func (b *Batch) readNice(_, value string) error {
	if value == "" {
		value = "100"
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return fmt.Errorf("%q is not a number", value)
	}
	return b.set("priority", strconv.FormatInt(-n, 10))
}

// export reads ALL or NONE, and the variables that follow.
func (b *Batch) export(_, value string) error {
	b.drop("env", "set-env")
	mode := "clean"
	var variables []string
	for item := range strings.SplitSeq(value, ",") {
		switch item {
		case "ALL":
			mode = "inherit"
		case "NONE", "NIL", "":
		default:
			variables = append(variables, "--set-env="+item)
		}
	}
	b.words = append(append(b.words, "--env="+mode), variables...)
	return nil
}

// image reads the name of an image as pyxis does: a # ends the name of the registry.
func (b *Batch) image(name, value string) error {
	switch {
	case b.ForSlurm:
		b.addNative(name, value)
		return nil
	case strings.HasSuffix(value, ".sqsh"):
		return fmt.Errorf("%q is an image for enroot, which jobs here can't run: name the image that it was made of", value)
	}
	return b.set("image", strings.Replace(value, "#", "/", 1))
}

func (b *Batch) exclusive(name, value string) error {
	if b.ForSlurm {
		b.addNative(name, value)
		return nil
	}
	if !b.Step { // the GPUs of a step are its own
		b.note("--exclusive keeps no one else off the machine: the job has its whole GPUs to itself, and the CPUs and memory that it asks for")
	}
	return nil
}
