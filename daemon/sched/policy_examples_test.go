package sched

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// Here the planner computes the examples of gpusched-policy(7). The page must have the same tables
// and sentences.

const policyPage = "../../cmd/gpusched/manual/text/policy.txt"

// policy is the text of the page.
type policy struct {
	*testing.T
	text string
}

func readPolicy(t *testing.T) *policy {
	data, err := os.ReadFile(policyPage)
	if err != nil {
		t.Fatal(err)
	}
	return &policy{t, string(data)}
}

// hasTable checks that the page has the given table.
func (p *policy) hasTable(rows ...[]string) {
	p.Helper()
	if want := table(rows); !strings.Contains(p.text, "\n\n"+want+"\n\n") {
		p.Errorf("the page lacks this table:\n%s", want)
	}
}

// hasSentence checks that the page has the given sentence, however its lines are broken.
func (p *policy) hasSentence(format string, args ...any) {
	p.Helper()
	want := fmt.Sprintf(format, args...)
	if !strings.Contains(strings.Join(strings.Fields(p.text), " "), want) {
		p.Errorf("the page does not say: %s", want)
	}
}

// table formats the rows of an example: right-aligned columns, two spaces apart.
func table(rows [][]string) string {
	var lines []string
	for _, row := range rows {
		line := "    "
		for i, cell := range row {
			width := 0
			for _, r := range rows {
				width = max(width, len(r[i]))
			}
			line += fmt.Sprintf("%*s  ", width, cell)
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n")
}

// formatDuration formats a duration as people write it, such as 2h 17m, in whole minutes.
func formatDuration(d time.Duration) string {
	if d = d.Round(minute); d == 0 {
		return "0m"
	}
	text := strings.TrimSuffix(strings.ReplaceAll(d.String(), "h", "h "), "0s")
	return strings.TrimSuffix(text, " 0m")
}

func decimals(x float64) string { return fmt.Sprintf("%.2f", x) }

// example returns a scene with the default policy.
func example(t *testing.T, gpus int) *scene {
	sc := newScene(t, gpus)
	sc.s.Policy = Policy{
		HalfLife: week, GuardAfter: week, GuardPercent: 50, ReservationDepth: 1, Patience: DefaultPatience, Slice: 30 * minute,
	}
	sc.s.GuardOpen = true
	return sc
}

// userWithUse returns the account of a user who has used the given number of GPU-hours.
func (sc *scene) userWithUse(name string, hours int) *Account {
	sc.user(name).Restore(time.Duration(hours)*time.Hour, noon)
	return sc.user(name)
}

// The page lists the settings on which its examples are based.
func TestTheExamplesAreOfTheDefaults(t *testing.T) {
	page, p := readPolicy(t), example(t, 1).s.Policy
	days := func(d time.Duration) string { return fmt.Sprintf("%.0fd", d.Hours()/24) }
	page.hasSentence("half_life = %q guard_after = %q guard_percent = %d reservation_depth = %d slice = %q",
		days(p.HalfLife), days(p.GuardAfter), p.GuardPercent, p.ReservationDepth, formatDuration(p.Slice))
	page.hasSentence("the due part of one hour of the whole machine")
	if even := p.HalfLife.Hours() * evenPart; even != 1 {
		t.Errorf("it is %v hours", even)
	}
}

func waited(d time.Duration) func(*Waiting) { return func(w *Waiting) { w.Since = ago(d) } }

func preemptible(w *Waiting) { w.Request.Preemptible = true }

// queue returns the table of the waiting jobs, in order.
func (sc *scene) queue() (rows [][]string) {
	rows = append(rows, []string{"job", "user", "expected", "counts as", "waited", "factor", "score"})
	for _, id := range sc.p.Ordered(&sc.s, sc.q, -1) {
		e := sc.q.entries[id]
		rows = append(rows, []string{fmt.Sprint(id), e.bucket.account.Name,
			formatDuration(e.Expected), formatDuration(e.bucket.effort), formatDuration(time.Duration(noon - e.Since)),
			decimals(e.bucket.account.factor), decimals(sc.p.pass.cursor(e.bucket, e).rank.score)})
	}
	return rows
}

func TestExampleOfShortAndLong(t *testing.T) {
	sc, page := example(t, 1), readPolicy(t)
	sc.queueJob(1, 1000, expected(8*time.Hour), waited(6*time.Hour))
	sc.queueJob(2, 1000, of(sc.user("ben")), expected(10*minute), waited(15*minute))
	page.hasTable(sc.queue()...)
	sc.expect("start 2 on 0, keep 0 for 1 at +17m4s")
	at := ago(-3 * time.Hour)
	a, b := sc.q.entries[1].bucket.score(ago(6*time.Hour), at), sc.q.entries[2].bucket.score(at-Instant(15*minute), at)
	page.hasSentence("After %s of waiting it has %s, and goes before another such test that has waited %s, which has %s.",
		formatDuration(9*time.Hour), decimals(a), formatDuration(15*minute), decimals(b))
	if a <= b {
		t.Errorf("%.2f is not more than %.2f", a, b)
	}
}

func TestExampleOfTheFactor(t *testing.T) {
	page := readPolicy(t)
	rows := [][]string{{"ann had of it"}, {"factor"}}
	for _, part := range []int{0, 25, 50, 75, 100} {
		sc := example(t, 8)
		sc.queueJob(1, 1000, of(sc.userWithUse("ann", 4*part)))
		sc.queueJob(2, 1000, of(sc.userWithUse("ben", 400-4*part)))
		sc.p.Ordered(&sc.s, sc.q, 0)
		rows[0], rows[1] = append(rows[0], fmt.Sprintf("%d %%", part)), append(rows[1], decimals(sc.user("ann").factor))
	}
	page.hasTable(rows...)
}

func TestExampleOfANewcomer(t *testing.T) {
	sc, page := example(t, 8), readPolicy(t)
	sc.userWithUse("ann", 400)
	sc.runJob(101, time.Hour, onGPUs(0, 1, 2, 3, 4, 5, 6)...)
	sc.queueJob(1, 1000, waited(3*time.Hour))
	sc.queueJob(2, 1000, of(sc.user("ben")), waited(time.Hour))
	page.hasTable(sc.queue()...)
	sc.expect("start 2 on 7, keep 0 for 1 at +1h0m0s")
	page.hasSentence("ben's hour counts %s times as much as one of ann's", decimals(sc.user("ben").factor/sc.user("ann").factor))
}

func TestExampleOfGroups(t *testing.T) {
	sc, page := example(t, 8), readPolicy(t)
	lab := &Account{UID: -1, Name: "lab", Share: 3}
	for name, hours := range map[string]int{"ann": 180, "ben": 60} {
		sc.userWithUse(name, hours).Groups = []*Account{lab}
	}
	lab.Restore(240*time.Hour, noon)
	sc.userWithUse("eve", 160)
	for i, name := range []string{"ann", "ben", "eve"} {
		sc.queueJob(job.ID(i+1), 1000, of(sc.user(name)))
	}
	sc.p.Ordered(&sc.s, sc.q, 0)
	page.hasTable([]string{"user", "group", "had", "factor"},
		[]string{"ann", "lab", "180", decimals(sc.user("ann").factor)},
		[]string{"ben", "lab", "60", decimals(sc.user("ben").factor)},
		[]string{"eve", "-", "160", decimals(sc.user("eve").factor)})
}

// withGPUs returns the table with the number of GPUs of each job.
func (sc *scene) withGPUs() [][]string {
	rows := sc.queue()
	for i, row := range rows {
		asks := "GPUs"
		if i > 0 {
			asks = fmt.Sprint(sc.q.entries[job.ID(i)].bucket.shape.milli / job.WholeGPU)
		}
		rows[i] = slices.Concat(row[:2], []string{asks}, row[2:])
	}
	return rows
}

func TestExampleOfReservations(t *testing.T) {
	page := readPolicy(t)
	for _, c := range []struct {
		gpus int
		want string
	}{
		{4, "start 3 on 2, keep 0+1+2+3 for 1 at +2h0m0s"},
		{3, "start 2 on 3, start 3 on 2, keep 0+1+2 for 1 at +2h0m0s"},
	} {
		sc := example(t, 4)
		sc.runJob(101, 2*time.Hour, onGPUs(0, 1)...)
		sc.queueJob(1, c.gpus*job.WholeGPU, expected(2*time.Hour), waited(5*time.Hour))
		sc.queueJob(2, 1000, of(sc.user("ben")), expected(4*time.Hour), waited(2*time.Hour))
		sc.queueJob(3, 1000, of(sc.user("eve")), expected(30*minute), waited(minute))
		if c.gpus == 4 {
			page.hasTable(sc.withGPUs()...)
		}
		sc.expect(c.want)
	}
}

// Of jobs of about two hours, four in five have ended by their late end.
func TestThePageOnLateEnds(t *testing.T) {
	page, e, ended := readPolicy(t), kindOf(100, between(110*minute, 130*minute)), 0.0
	page.hasSentence("counted on from when %s jobs like it would have ended", map[float64]string{0.2: "four in five"}[predict.LateTail])
	for u := 0.005; u < 1; u += 0.01 {
		if e.Draw(u, 0) <= e.Late(0) {
			ended += 0.01
		}
	}
	if math.Abs(ended-0.8) > 0.05 {
		t.Errorf("by %s %.2f of them have ended", e.Late(0), ended)
	}
}

// Once a job has waited for twice its expected run time, its start is computed as if each running
// job ended at its median run time: here in one hour instead of three.
func TestExampleOfPatience(t *testing.T) {
	readPolicy(t).hasSentence("has waited for %s as long as it is itself expected to run, the time by which half would have ended counts",
		map[int]string{2: "twice"}[DefaultPatience])
	for waits, at := range map[time.Duration]string{30 * minute: "+3h0m0s", 2 * time.Hour: "+2h0m0s", 4 * time.Hour: "+1h0m0s"} {
		sc := example(t, 1)
		sc.runJob(101, time.Hour, onGPUs(0)...).Late = noon.Add(3 * time.Hour)
		sc.queueJob(1, 1000, expected(2*time.Hour), waited(waits))
		sc.expect("keep 0 for 1 at " + at)
	}
}

func TestExampleOfAPlaceInAQuota(t *testing.T) {
	sc, page := example(t, 8), readPolicy(t)
	sc.runJob(101, time.Hour, onGPUs(0)...)
	ann := sc.s.Running[0].Account
	ann.MaxMilli = 4 * job.WholeGPU
	sc.count()
	sc.queueJob(1, 4*job.WholeGPU, expected(2*time.Hour), waited(5*time.Hour))
	sc.queueJob(2, 1000, expected(4*time.Hour), waited(2*time.Hour))
	sc.queueJob(3, 1000, expected(30*minute), waited(minute))
	page.hasTable(sc.withGPUs()...)
	sc.expect("start 3 on 1")
}

func TestExampleOfClasses(t *testing.T) {
	sc, page := example(t, 1), readPolicy(t)
	sc.queueJob(1, 1000, waited(5*24*time.Hour))
	sc.queueJob(2, 1000, of(sc.user("ben")), waited(0), asks(func(r *job.Request) { r.Priority.Number = 1 }))
	sc.queueJob(3, 1000, of(sc.user("eve")), waited(0), asks(func(r *job.Request) { r.Priority.Class = job.High }))
	if got := sc.p.Ordered(&sc.s, sc.q, -1); !slices.Equal(got, []job.ID{3, 2, 1}) {
		t.Errorf("the order is %v", got)
	}
	page.hasSentence("A job of class high that has just come goes before one of class normal with --priority 1, " +
		"and that one goes before one with --priority 0 that has waited for five days.")
}

func TestExampleOfTheGuard(t *testing.T) {
	sc, page := example(t, 1), readPolicy(t)
	sc.queueJob(1, 1000, expected(72*time.Hour), waited(week+time.Hour))
	sc.queueJob(2, 1000, of(sc.user("ben")), expected(10*minute), waited(2*time.Hour))
	page.hasTable(sc.queue()...)
	sc.s.GuardOpen = false
	if got := sc.p.Ordered(&sc.s, sc.q, -1); !slices.Equal(got, []job.ID{2, 1}) {
		t.Errorf("while the guard is shut the order is %v", got)
	}
}

func TestExampleOfPredictions(t *testing.T) {
	page, p := readPolicy(t), predict.NewPredictor(nil)
	ann := func(milli int, script, command string) predict.Kind {
		return predict.Kind{UID: 1001, Milli: milli, Script: script, Shape: script + " " + command}
	}
	rows := [][]string{{"ann's next job", "expected"}}
	expect := func(what string, k predict.Kind) {
		rows = append(rows, []string{what, formatDuration(p.Estimate(k).Median)})
	}
	expect("before any has ended", ann(1000, "train.py", "a"))
	for _, d := range []time.Duration{5 * time.Hour, 6 * time.Hour, 7 * time.Hour} {
		p.Observe(ann(1000, "train.py", "a"), d, true, noon.Time())
		p.Observe(ann(1000, "test.py", "a"), d/60, true, noon.Time())
	}
	expect("-- train.py a", ann(1000, "train.py", "a"))
	expect("-- train.py b", ann(1000, "train.py", "b"))
	expect("-- test.py b", ann(1000, "test.py", "b"))
	expect("-- new.py", ann(1000, "new.py", ""))
	expect("-g 4 -- train.py a", ann(4000, "train.py", "a"))
	page.hasTable(rows...)
	e := p.Estimate(ann(1000, "test.py", "a"))
	page.hasSentence("ann has run train.py a (5h, 6h and 7h) and test.py a (5m, 6m and 7m)")
	page.hasSentence("When test.py a has run for %s, which it never did, it is expected to take %s in all.",
		formatDuration(20*minute), formatDuration(e.Total(20*minute)))
}

func between(from, to time.Duration) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return from + time.Duration(r.Float64()*float64(to-from)) }
}

// anyRunTime returns a function that draws times from a minute to a day. Each order of magnitude is
// drawn equally often, even in a short series of draws.
func anyRunTime() func(*rand.Rand) time.Duration {
	n := 0.0
	return func(*rand.Rand) time.Duration {
		_, part := math.Modf(n * math.Phi)
		n++
		return time.Duration(math.Exp(part*math.Log(24*60)) * float64(minute))
	}
}

// kindOf returns the estimate of a kind after the given number of runs.
func kindOf(runs int, draw func(*rand.Rand) time.Duration) predict.Estimate {
	p, k, rng := predict.NewPredictor(nil), predict.Kind{UID: 1, Milli: 1000, Shape: "a"}, rand.New(rand.NewPCG(1, 2))
	for range runs {
		p.Observe(k, draw(rng), true, noon.Time())
	}
	return p.Estimate(k)
}

// kindsOfEffort returns estimates for runs that are alike, and for runs that are not.
func kindsOfEffort() (alike, wild predict.Estimate) {
	return kindOf(100, between(110*minute, 130*minute)), kindOf(100, anyRunTime())
}

func TestExampleOfEfforts(t *testing.T) {
	page := readPolicy(t)
	alike, wild := kindsOfEffort()
	rows := [][]string{{"such jobs take"}, {rowsOfEffort[0]}, {rowsOfEffort[1]}}
	for _, ran := range []time.Duration{0, 30 * minute, time.Hour, 90 * minute} {
		rows[0] = append(rows[0], "ran "+formatDuration(ran))
		for i, e := range []predict.Estimate{alike, wild} {
			rows[i+1] = append(rows[i+1], formatDuration(e.Effort(ran, 30*minute)))
		}
	}
	page.hasTable(rows...)
}

func TestExampleOfPreemption(t *testing.T) {
	page := readPolicy(t)
	alike, wild := kindsOfEffort()
	rows := [][]string{{"such jobs take", "score of ann's", "score of ben's", "ann's"}}
	for i, e := range []predict.Estimate{alike, wild} {
		sc := example(t, 1)
		r := sc.runJob(101, time.Hour, onGPUs(0)...)
		r.Preemptible, r.Since = true, ago(3*time.Hour)
		r.Effort = e.Effort(time.Hour, 30*minute)
		sc.queueJob(1, 1000, of(sc.user("ben")), waited(90*minute), preemptible, func(w *Waiting) {
			w.Effort = e.Effort(0, 30*minute)
		})
		becomes, want := "runs on", "keep 0 for 1 at +1h0m0s"
		if i == 1 {
			becomes, want = "is stopped", want+", stop 101 for 1"
		}
		sc.expect(want)
		rows = append(rows, []string{rowsOfEffort[i], decimals(sc.p.pass.runningRank(&sc.s.Running[0]).score),
			decimals(sc.p.pass.cursor(sc.q.entries[1].bucket, sc.q.entries[1]).rank.score), becomes})
	}
	page.hasTable(rows...)
	page.hasSentence("ann's job had waited for %s and has run for %s.", formatDuration(2*time.Hour), formatDuration(time.Hour))
	page.hasSentence("has waited for %s:", formatDuration(90*minute))
}

var rowsOfEffort = []string{"about 2h", "1m to 24h"}

func TestExampleOfThresholds(t *testing.T) {
	rows := [][]string{{"GPUs of the one that runs"}, {"times its score"}}
	for _, gpus := range []int32{1, 2, 4, 8} {
		rows[0] = append(rows[0], fmt.Sprint(gpus))
		rows[1] = append(rows[1], decimals(preemptionThreshold(gpus*job.WholeGPU, job.WholeGPU)))
	}
	page := readPolicy(t)
	page.hasTable(rows...)
	page.hasSentence("no single score may be more than %d times the job's", togetherAbove)
	turn := (&Policy{Slice: 30 * minute}).protectedTime(time.Hour)
	if turn != 2*time.Hour {
		t.Errorf("a turn is %s", turn)
	}
	page.hasSentence("has run for half an hour (longer once it has been stopped, see below)")
	page.hasSentence("has a turn of two hours, or four times as long as it had run if that is less")
	page.hasSentence("only if that has waited for a week, or is wider and asks for more than half of the GPUs of its kind in service")
}

func TestExampleOfQuotas(t *testing.T) {
	sc, page := example(t, 4), readPolicy(t)
	ann := sc.user("ann")
	ann.MaxMilli, ann.Milli = 2000, 2000
	sc.runJob(101, time.Hour, onGPUs(0, 1)...)
	sc.queueJob(1, 1000, waited(5*time.Hour))
	sc.queueJob(2, 1000, of(sc.user("ben")), waited(minute))
	sc.expect("start 2 on 2")
	page.hasSentence("ann has a quota of 2 GPUs and uses both: her next job is passed over, " +
		"whatever its score, and ben's starts.")
}

func TestExampleOfBatches(t *testing.T) {
	page := readPolicy(t)
	rows := [][]string{{"", "first", "then", "all are done after"}}
	for _, batch := range []string{"", "sweep"} {
		sc := example(t, 2)
		for id := range job.ID(4) {
			hours := []time.Duration{3, 1, 1, 1}[id]
			sc.queueJob(id+1, 1000, waited(minute), expected(hours*time.Hour), func(w *Waiting) { w.Batch = batch })
		}
		var first, then []string
		done := time.Duration(0)
		starts := startsOf(sc.p.Forecast(&sc.s, sc.q, nil))
		for id := range job.ID(4) {
			e, at := sc.q.entries[id+1], time.Duration(starts[id+1]-noon)
			if done = max(done, at+e.Expected); at == 0 {
				first = append(first, formatDuration(e.Expected))
			} else {
				then = append(then, formatDuration(e.Expected))
			}
		}
		name := map[string]string{"": "by score", "sweep": "as a batch"}[batch]
		rows = append(rows, []string{name, strings.Join(first, " + "), strings.Join(then, ", "), formatDuration(done)})
	}
	page.hasTable(rows...)
}
