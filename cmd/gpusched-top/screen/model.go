package screen

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// Setting is what a screen is begun with.
type Setting struct {
	UID   int
	Mine  bool           // show only one's own jobs
	ASCII bool           // the terminal may have no other characters
	Zone  *time.Location // of the times
}

// Picture is what the scheduler answered at one time.
type Picture struct {
	Asked Fetch
	At    time.Time // when it came

	TookGPUs, TookJobs time.Duration

	GPUs   api.GPUsReply
	List   *api.ListReply // nil, here and below: not asked for this time
	Status *api.StatusReply
	Own    *api.ListReply // of one's own waiting jobs the first
}

// The messages that Update takes, besides Picture.
type (
	// Key is a key as bubbletea calls it, and what it types.
	Key struct{ Name, Text string }
	// Size is the size of the terminal.
	Size struct{ Width, Height int }
	// Tick is the time, about once a second.
	Tick struct{ Now time.Time }
	// Failed says that a Fetch was not answered.
	Failed struct {
		Asked Fetch
		At    time.Time
		Took  time.Duration
		Err   error
	}
	// Changed says that something is not any more as in the picture.
	Changed struct{}
	// Told says whether every change of a job is told from now on.
	Told struct{ On bool }
	// Done says what became of something that was asked for.
	Done struct {
		Text string
		Err  error
	}
	// Printed is what a command in the pane printed.
	Printed struct {
		Pane  int
		Lines []string // complete ones
		Last  string   // the beginning of the next
		Ended bool
	}
)

// The effects that Update returns.
type (
	// Fetch asks for a picture.
	Fetch struct {
		Waiting int  // at most so many waiting jobs, 0: all
		Mine    bool // only one's own jobs
		Jobs    bool // also the jobs
		Status  bool // also what changes rarely
	}
	// Cancel ends jobs.
	Cancel struct{ IDs []string }
	// Control pauses a GPU, or lets jobs back on it.
	Control struct {
		GPU   int
		Pause bool
	}
	// Open runs a command of gpusched in a pane of so many columns and lines.
	Open struct {
		Pane          int
		Args          []string
		Width, Height int
	}
	// Close ends the command in the pane.
	Close struct{ Pane int }
	// Suspend gives the terminal back to the shell.
	Suspend struct{}
	// Quit ends it all.
	Quit struct{}
)

// The times between two pictures.
const (
	// pause is between two pictures while nothing is known to have changed.
	pause = 2 * time.Second
	// least is between two pictures whatever changes.
	least = time.Second
	// share is how many times as long as the scheduler took for the GPUs, or for the jobs, it is left
	// alone with them.
	share = 20
	// rarely is between two questions about what changes rarely: that includes the jobs, where each
	// change is told, but for when they are expected to start.
	rarely = 6 * time.Second
	// stale is from when the age of the picture is said.
	stale = 8 * time.Second
)

// Model is the screen and all that it is made of.
type Model struct {
	Setting
	width, height int
	now           time.Time

	picture  Picture
	owners   map[job.ID]string // of the jobs that were seen
	points   map[string][]point
	problem  error // why there is no newer picture
	asking   bool
	next     time.Time // when the next picture is asked for
	nextJobs time.Time // from when with the jobs
	status   time.Time // when the status was asked for last
	jobs     time.Time // and the jobs
	changed  bool
	told     bool   // every change is told
	selected string // the row of a job, by nameOf
	place    int    // where it is among the rows
	gpu      int    // the selected GPU, by its place
	top      int    // the first job that is shown
	gpuTop   int
	onGPUs   bool // the keys are for the GPUs
	filter   string
	typing   bool // the filter is being typed
	sort     sorting
	question *question
	note     string // what was done last
	bad      bool   // the note is of something that failed
	pane     *pane
	panes    int // how many there have been
	help     bool
	helpTop  int
	rows     []api.Job // those that are shown, in order
}

// question is asked before something is done.
type question struct {
	text string
	yes  any // the effect
}

// New is an empty screen.
func New(s Setting) *Model {
	if s.Zone == nil {
		s.Zone = time.UTC
	}
	return &Model{Setting: s, width: 80, height: 24, owners: map[job.ID]string{}, points: map[string][]point{}}
}

// Update takes a message and returns what is to be done about it.
func (m *Model) Update(msg any) []any {
	switch msg := msg.(type) {
	case Key:
		return m.key(msg)
	case Size:
		m.width, m.height = max(1, msg.Width), max(1, msg.Height)
	case Tick:
		m.now = msg.Now.In(m.Zone)
	case Picture:
		m.take(msg)
	case Failed:
		m.asking, m.problem, m.next = false, msg.Err, msg.At.Add(patience(msg.Took, pause))
	case Changed:
		m.changed = true
	case Told:
		m.told = msg.On
	case Done:
		m.say(msg)
	case Printed:
		m.print(msg)
	}
	m.keep()
	return m.ask()
}

// take has a new picture shown.
func (m *Model) take(p Picture) {
	if p.List == nil {
		p.List, p.Asked = m.picture.List, m.picture.Asked
	} else {
		m.nextJobs = p.At.Add(patience(p.TookJobs, least))
	}
	if p.Status == nil {
		p.Status = m.picture.Status
	}
	if p.Own == nil {
		p.Own = m.picture.Own
	}
	m.asking, m.problem, m.picture = false, nil, p
	m.next = p.At.Add(patience(p.TookGPUs, pause))
	if p.List != nil {
		m.learn(p.List.Jobs)
	}
	if p.Status != nil {
		m.learn(p.Status.Running)
	}
	m.remember(&p.GPUs)
	m.arrange()
}

// learn keeps whose jobs are: a list of one's own jobs does not say it of others that have GPUs.
func (m *Model) learn(jobs []api.Job) {
	if len(m.owners) > 100_000 {
		clear(m.owners)
	}
	for i := range jobs {
		if j := &jobs[i]; j.ID != 0 {
			m.owners[j.ID] = j.User
		}
	}
}

// patience is for how long the scheduler is left alone after an answer, at least so long: what it
// has to work for is asked for less often.
func patience(took, atLeast time.Duration) time.Duration {
	return max(atLeast, min(share*took, time.Minute))
}

// soon has a new picture asked for as soon as that may be.
func (m *Model) soon() {
	m.next, m.nextJobs = time.Time{}, time.Time{}
	m.changed, m.status = true, time.Time{}
}

// more has more jobs asked for, unless all of them are here.
func (m *Model) more() {
	if m.omitted() > 0 {
		m.next, m.nextJobs, m.changed = m.picture.At, m.picture.At, true
	}
}

// omitted is how many waiting jobs are not here.
func (m *Model) omitted() int {
	if m.picture.List == nil {
		return 0
	}
	return m.picture.List.Omitted
}

// ask returns the question for the next picture, if it is time for one.
func (m *Model) ask() []any {
	due := m.next
	if m.changed && m.nextJobs.Before(due) {
		due = m.nextJobs
	}
	if m.asking || m.now.IsZero() || m.now.Before(due) {
		return nil
	}
	f := Fetch{Waiting: m.wanted(), Mine: m.Mine}
	f.Jobs = !m.now.Before(m.nextJobs) && (!m.told || m.changed || m.now.Sub(m.jobs) >= rarely)
	if f.Jobs {
		m.jobs, m.changed = m.now, false
		if f.Status = m.now.Sub(m.status) >= rarely; f.Status {
			m.status = m.now
		}
	}
	m.asking = true
	return []any{f}
}

// wanted is how many waiting jobs are asked for: those that are on the screen and some more, so
// that keys move at once; all where they are to be looked through or sorted.
func (m *Model) wanted() int {
	if m.filter != "" || m.typing || m.sort != byQueue {
		return 0
	}
	const page = 100
	shown := m.top + 2*m.height
	for i := range m.rows {
		if j := &m.rows[i]; j.State == job.Queued {
			shown += max(0, j.Alike-1)
		}
	}
	return shown/page*page + page
}

// arrange makes the rows: those that the filter lets through, sorted.
func (m *Model) arrange() {
	m.rows = nil
	if m.picture.List != nil {
		m.rows = m.picture.List.Jobs
	}
	if m.filter != "" { // of tasks in one row those that match
		m.rows = slices.DeleteFunc(slices.Clone(m.rows), func(j api.Job) bool { return !matches(j, m.filter) })
	}
	m.rows = api.ByState(m.rows, 0)
	if m.sort != byQueue {
		slices.SortStableFunc(m.rows, m.sort.compare(m.now))
	}
}

// matches reports whether each word of a filter is in what the row says of a job.
func matches(j api.Job, filter string) bool {
	text := strings.ToLower(strings.Join([]string{idOf(j), j.User, j.Name, stateWord(j), j.Cause(words.Reader{})}, "\n"))
	for _, word := range strings.Fields(strings.ToLower(filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// keep has the selected job and GPU on the screen; a job that is gone leaves its place to the next.
func (m *Model) keep() {
	room := m.layout()
	gpus := len(m.picture.GPUs.GPUs)
	m.gpu = max(0, min(m.gpu, gpus-1))
	m.gpuTop = inView(m.gpuTop, m.gpu, gpus, room.gpus)
	at := m.at()
	m.top = inView(m.top, at, len(m.rows), room.jobs)
	if m.selected = ""; len(m.rows) > 0 {
		m.selected, m.place = nameOf(&m.rows[at]), at
	}
}

// inView is the first of so many rows that are shown, so that one of them is.
func inView(top, at, count, shown int) int {
	shown = max(1, shown)
	return max(0, at-shown+1, min(top, at, count-shown))
}

// at is the place of the selected job, or where it was.
func (m *Model) at() int {
	at := slices.IndexFunc(m.rows, func(j api.Job) bool { return nameOf(&j) == m.selected })
	if at < 0 {
		return max(0, min(m.place, len(m.rows)-1))
	}
	return at
}

// sorting is an order of the jobs.
type sorting int

const (
	byQueue sorting = iota // those that run, then the queue
	byUser
	byName
	byGPUs
	byTime
	sortings
)

func (s sorting) String() string {
	return [...]string{"queue", "user", "name", "GPUs", "time"}[s]
}

// compare puts the most of what people look for first.
func (s sorting) compare(now time.Time) func(a, b api.Job) int {
	return func(a, b api.Job) int {
		switch s {
		case byUser:
			return cmp.Compare(a.User, b.User)
		case byName:
			return cmp.Compare(a.Name, b.Name)
		case byGPUs:
			return cmp.Compare(b.GPUMilli, a.GPUMilli)
		case byTime:
			return cmp.Compare(since(b, now), since(a, now))
		}
		return 0
	}
}
