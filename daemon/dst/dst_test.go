package dst

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// By default the seeds are always the same. A long run uses different seeds.
var (
	seeds = flag.Int("seeds", 1000, "how many seeds to run")
	first = flag.Uint64("first", 1, "the first of them")
	files = flag.Int("files", 25, "how many seeds to run on a real state file")
	keep  = flag.String("keep", "", "run the first seed with these entries of its plan alone, and tell the story")
)

// TestSeeds checks all invariants over many seeds. A seed that fails is shrunk.
func TestSeeds(t *testing.T) {
	if *keep != "" {
		replay(t)
		return
	}
	all := make(chan uint64)
	total := Result{Counts: map[string]int{}}
	failed := map[uint64]Result{}
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := range all {
				r := Run(NewPlan(seed), false)
				mu.Lock()
				total.Steps += r.Steps
				for k, n := range r.Counts {
					total.Counts[k] += n
				}
				if r.Failed() {
					failed[seed] = r
				}
				mu.Unlock()
			}
		})
	}
	for seed := range uint64(*seeds) {
		all <- *first + seed
	}
	close(all)
	workers.Wait()
	t.Logf("%d seeds, %d steps, %d failed", *seeds, total.Steps, len(failed))
	for _, k := range slices.Sorted(maps.Keys(total.Counts)) {
		t.Logf("%9d %s", total.Counts[k], k)
	}
	for n, seed := range slices.Sorted(maps.Keys(failed)) {
		if n == 10 {
			t.Fatalf("and %d more", len(failed)-n)
		}
		t.Errorf("seed %d: %s", seed, failed[seed].Breaches[0])
		if n < 3 && !testing.Short() {
			explain(t, NewPlan(seed))
		}
	}
}

// explain shrinks a plan that fails, and logs the end of its story.
func explain(t *testing.T, p Plan) {
	p = Shrink(p, func(p Plan) Result { return Run(p, false) })
	r := Run(p, true)
	t.Logf("%d GPUs; what remains of the plan:\n%s", p.GPUs, script(p))
	t.Logf("the last that happened:\n%s", strings.Join(r.Trail[max(0, len(r.Trail)-30):], "\n"))
	t.Logf("to see it all:\n\tgo test ./daemon/dst -run TestSeeds -v -args -first %d -keep %s", p.Seed, strings.Trim(strings.ReplaceAll(fmt.Sprint(p.Names()), " ", ","), "[]"))
}

func script(p Plan) string {
	lines := make([]string, len(p.Entries))
	for i, e := range p.Entries {
		lines[i] = e.String()
	}
	return strings.Join(lines, "\n")
}

// replay prints the story of one seed, with some entries of its plan or with all.
func replay(t *testing.T) {
	p := NewPlan(*first)
	if *keep != "all" {
		var names []int
		for text := range strings.SplitSeq(*keep, ",") {
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Fatalf("-keep takes numbers of entries: %v", err)
			}
			names = append(names, n)
		}
		p = p.Only(names)
	}
	r := Run(p, true)
	fmt.Println(strings.Join(r.Trail, "\n"))
	for _, b := range r.Breaches {
		t.Error(b)
	}
}

// TestSameSeedSameSteps checks invariant 11 on one processor, on several processors, and next to
// other runs. Whether a story is written must change nothing.
func TestSameSeedSameSteps(t *testing.T) {
	const n = 20
	var want [n]Result
	for i := range want {
		want[i] = Run(NewPlan(uint64(i)), false)
	}
	check := func(how string, i int, r Result) {
		if r.Hash != want[i].Hash || r.Steps != want[i].Steps || r.Elapsed != want[i].Elapsed {
			t.Errorf("seed %d %s: %d steps to %v, hash %x, and before %d to %v, %x", i, how, r.Steps, r.Elapsed, r.Hash, want[i].Steps, want[i].Elapsed, want[i].Hash)
		}
	}
	before := runtime.GOMAXPROCS(1)
	for i := range n {
		check("on one processor", i, Run(NewPlan(uint64(i)), false))
	}
	runtime.GOMAXPROCS(max(4, before))
	defer runtime.GOMAXPROCS(before)
	var beside sync.WaitGroup
	for i := range n {
		beside.Go(func() { check("beside others", i, Run(NewPlan(uint64(i)), true)) })
	}
	beside.Wait()
}

// The judge once reported false breaches for these seeds.
func TestMisjudged(t *testing.T) {
	for seed, why := range map[uint64]string{
		7038:  "a client has its job acknowledged while the last question is on its way: the answer, taken before, need not show it",
		20598: "an administrator says that a GPU is well, which the last sample did not show",
	} {
		if r := Run(NewPlan(seed), false); r.Failed() {
			t.Errorf("%s: %s", why, r.Breaches[0])
		}
	}
}

// TestStateFile runs seeds on a real state file as well. If a process dies in the middle of a
// commit, some of the commit's writes are torn. The file must read back as it was written. If no
// write was torn, everything happens as on the model.
func TestStateFile(t *testing.T) {
	same, tornWrites := 0, 0
	for seed := *first; seed < *first+uint64(*files); seed++ {
		p := NewPlan(seed)
		p.Entries = slices.DeleteFunc(p.Entries, func(e Entry) bool { return e.Kind == stateLost || e.Kind == stateOld }) // the file is not lost here
		r := RunOn(p, false, t.TempDir())
		if r.Failed() {
			t.Errorf("seed %d: %s", seed, r.Breaches[0])
			continue
		}
		tornWrites += r.Counts["torn write"]
		if r.Counts["torn write"] > 0 {
			continue // the commit may be on disk, and its ids are not given again
		}
		same++
		if m := Run(p, false); m.Hash != r.Hash || m.Steps != r.Steps {
			t.Errorf("seed %d takes %d steps on a file and %d without", seed, r.Steps, m.Steps)
		}
	}
	t.Logf("%d seeds, %d the same as without a file, %d torn writes", *files, same, tornWrites)
	if same == 0 || tornWrites == 0 {
		t.Errorf("%d seeds were the same and %d writes torn", same, tornWrites)
	}
}

// Planted bugs are found. The shrunk plan is short. It fails again, and does not fail without the
// bug.
func TestPlantedBugsAreFoundAndShrunk(t *testing.T) {
	for name, c := range map[string]struct {
		bug   bug
		needs Kind // fault without which the bug does not show
		most  int
	}{
		"a disk that lies":         {bug{lyingDisk: true}, diskUnsure, 12},
		"a stop that does nothing": {bug{idleStop: true}, submit, 3},
		"a post that lies":         {bug{lyingPost: true}, submit, 3},
	} {
		t.Run(name, func(t *testing.T) {
			planted := func(p Plan) Result { return simulate(p, false, c.bug, "") }
			seed := uint64(1)
			for ; !planted(NewPlan(seed)).Failed(); seed++ {
				if seed == 300 {
					t.Fatal("it is not found in 300 seeds")
				}
			}
			whole := NewPlan(seed)
			p := Shrink(whole, planted)
			t.Logf("seed %d: of %d entries remain\n%s\n%s", seed, len(whole.Entries), script(p), planted(p).Breaches[0])
			if len(p.Entries) > c.most || !slices.ContainsFunc(p.Entries, func(e Entry) bool { return e.Kind == c.needs }) {
				t.Errorf("%d entries remain:\n%s", len(p.Entries), script(p))
			}
			if !planted(whole.Only(p.Names())).Failed() {
				t.Error("what remains does not fail again")
			}
			if r := Run(p, false); r.Failed() {
				t.Errorf("without the bug it fails, too: %s", r.Breaches[0])
			}
		})
	}
}

// If the starts of one user's jobs never complete, other users' jobs still start within 2.5 s.
func TestStartsThatAreNeverOver(t *testing.T) {
	beside := 0
	for seed := range uint64(40) {
		p := NewPlan(seed)
		p.Chaos = time.Minute
		p.Entries = slices.DeleteFunc(p.Entries, func(e Entry) bool { return e.Kind != submit })
		for i := range p.Entries {
			p.Entries[i].At %= p.Chaos
		}
		w := newWorld(p)
		w.planted.neverBegins = users[seed%3].UID
		for i := range p.Entries {
			w.agenda.add(p.Entries[i].At, func() { w.act(&p.Entries[i]) })
		}
		w.agenda.add(0, w.start)
		for w.Elapsed < 2*p.Chaos && len(w.Breaches) == 0 {
			w.step()
		}
		w.end()
		if beside += w.Counts["start beside starts that are never over"]; len(w.Breaches) > 0 {
			t.Errorf("seed %d: %s", seed, w.Breaches[0])
		}
	}
	if beside == 0 {
		t.Error("there was no other start")
	}
}
