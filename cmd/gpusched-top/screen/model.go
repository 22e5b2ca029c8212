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

// A Setting is the configuration of a screen.
type Setting struct {
	UID   int
	Mine  bool           // show only the user's own jobs
	ASCII bool           // print only ASCII
	Zone  *time.Location // time zone of displayed times
}

// A Picture contains the scheduler's answers to one Fetch.
type Picture struct {
	Asked Fetch
	At    time.Time // time of the answer

	TookGPUs, TookJobs time.Duration

	GPUs   api.GPUsReply
	List   *api.ListReply // List and the fields below are nil if they were not requested
	Status *api.StatusReply
	Own    *api.ListReply // the first of the user's own waiting jobs
}

// Update accepts these messages and Picture.
type (
	// Key is a key: its name in bubbletea, and the text that it types.
	Key struct{ Name, Text string }
	// Size is the size of the terminal.
	Size struct{ Width, Height int }
	// Tick reports the time, about once a second.
	Tick struct{ Now time.Time }
	// Failed reports that a Fetch got no answer.
	Failed struct {
		Asked Fetch
		At    time.Time
		Took  time.Duration
		Err   error
	}
	// Changed reports that the picture is out of date.
	Changed struct{}
	// Announced reports whether the scheduler now announces every change of a job.
	Announced struct{ On bool }
	// Done is the outcome of an action.
	Done struct {
		Text string
		Err  error
	}
	// Printed is output of the command in a pane.
	Printed struct {
		Pane  int
		Lines []string // complete lines
		Last  string   // beginning of an incomplete line
		Ended bool
	}
)

// Update returns these effects.
type (
	// Fetch requests a Picture.
	Fetch struct {
		Waiting int  // maximum number of waiting jobs, 0 for all
		Mine    bool // only the user's own jobs
		Jobs    bool // include the jobs
		Status  bool // include the status and the user's own jobs
	}
	// Cancel cancels jobs.
	Cancel struct{ IDs []string }
	// Control pauses or resumes a GPU.
	Control struct {
		GPU   int
		Pause bool
	}
	// Open runs a gpusched command in a pane of this size.
	Open struct {
		Pane          int
		Args          []string
		Width, Height int
	}
	// Close ends the command in the pane.
	Close struct{ Pane int }
	// Suspend returns the terminal to the shell until the shell resumes the program.
	Suspend struct{}
	// Quit ends the program.
	Quit struct{}
)

// Intervals and limits of polling.
const (
	// pollInterval is the time between two pictures while the screen knows of no change.
	pollInterval = 2 * time.Second
	// minInterval is the minimum time between two pictures.
	minInterval = time.Second
	// loadFactor limits the load on the scheduler. The delay after an answer is loadFactor times
	// the time that the answer took.
	loadFactor = 20
	// statusInterval is the time between two requests for the status. While
	// every change is announced, it is also the time between two requests
	// for the jobs: their expected starts change without an event.
	statusInterval = 6 * time.Second
	// staleAfter is a limit: if the picture is older, its age is shown.
	staleAfter = 8 * time.Second
)

// A Model is the state of the screen.
type Model struct {
	Setting
	width, height int
	now           time.Time

	picture   Picture
	owners    map[job.ID]string // users of all jobs seen so far
	points    map[string][]point
	problem   error // why the picture is not newer
	asking    bool
	next      time.Time // when to request another picture
	nextJobs  time.Time // earliest time for a request that includes the jobs
	status    time.Time // when the status was last requested
	jobs      time.Time // when the jobs were last requested
	changed   bool
	announced bool   // the scheduler announces every change
	selected  string // nameOf of the selected row
	place     int    // index of the selected row in rows
	gpu       int    // index of the selected GPU
	top       int    // index of the first row on the screen
	gpuTop    int
	onGPUs    bool // keys go to the GPU table
	filter    string
	typing    bool // the user is typing the filter
	sort      sorting
	question  *question
	note      string // outcome of the last action
	bad       bool   // the note reports a failure
	pane      *pane
	panes     int // number of panes opened so far
	help      bool
	helpTop   int
	rows      []api.Job // shown jobs, in order
}

// A question is shown before an action.
type question struct {
	text string
	yes  any // effect of the answer yes
}

// New returns an empty screen.
func New(s Setting) *Model {
	if s.Zone == nil {
		s.Zone = time.UTC
	}
	return &Model{Setting: s, width: 80, height: 24, owners: map[job.ID]string{}, points: map[string][]point{}}
}

// Update handles a message and returns the effects to perform.
func (m *Model) Update(msg any) []any {
	switch msg := msg.(type) {
	case Key:
		return m.key(msg)
	case Size:
		m.width, m.height = max(1, msg.Width), max(1, msg.Height)
	case Tick:
		m.now = msg.Now.In(m.Zone)
	case Picture:
		m.setPicture(msg)
	case Failed:
		m.asking, m.problem, m.next = false, msg.Err, msg.At.Add(delayAfter(msg.Took, pollInterval))
	case Changed:
		m.changed = true
	case Announced:
		m.announced = msg.On
	case Done:
		m.showOutcome(msg)
	case Printed:
		m.print(msg)
	}
	m.keepVisible()
	return m.ask()
}

// setPicture replaces the picture. Parts that were not requested keep their last value.
func (m *Model) setPicture(p Picture) {
	if p.List == nil {
		p.List, p.Asked = m.picture.List, m.picture.Asked
	} else {
		m.nextJobs = p.At.Add(delayAfter(p.TookJobs, minInterval))
	}
	if p.Status == nil {
		p.Status = m.picture.Status
	}
	if p.Own == nil {
		p.Own = m.picture.Own
	}
	m.asking, m.problem, m.picture = false, nil, p
	m.next = p.At.Add(delayAfter(p.TookGPUs, pollInterval))
	if p.List != nil {
		m.rememberUsers(p.List.Jobs)
	}
	if p.Status != nil {
		m.rememberUsers(p.Status.Running)
	}
	m.remember(&p.GPUs)
	m.arrange()
}

// rememberUsers stores the users of jobs. If only the user's own jobs are listed, a picture lacks
// the users of other jobs that have GPUs.
func (m *Model) rememberUsers(jobs []api.Job) {
	if len(m.owners) > 100_000 {
		clear(m.owners)
	}
	for i := range jobs {
		if j := &jobs[i]; j.ID != 0 {
			m.owners[j.ID] = j.User
		}
	}
}

// delayAfter returns the delay after an answer. The more time
// the scheduler needed for the answer, the longer the delay.
func delayAfter(took, atLeast time.Duration) time.Duration {
	return max(atLeast, min(loadFactor*took, time.Minute))
}

// refresh requests a new picture at the next opportunity.
func (m *Model) refresh() {
	m.next, m.nextJobs = time.Time{}, time.Time{}
	m.changed, m.status = true, time.Time{}
}

// fetchMore requests more jobs, unless all of them are known.
func (m *Model) fetchMore() {
	if m.omitted() > 0 {
		m.next, m.nextJobs, m.changed = m.picture.At, m.picture.At, true
	}
}

// omitted returns the number of waiting jobs that are not in the picture.
func (m *Model) omitted() int {
	if m.picture.List == nil {
		return 0
	}
	return m.picture.List.Omitted
}

// ask returns a Fetch if one is due.
func (m *Model) ask() []any {
	due := m.next
	if m.changed && m.nextJobs.Before(due) {
		due = m.nextJobs
	}
	if m.asking || m.now.IsZero() || m.now.Before(due) {
		return nil
	}
	f := Fetch{Waiting: m.jobsToFetch(), Mine: m.Mine}
	f.Jobs = !m.now.Before(m.nextJobs) && (!m.announced || m.changed || m.now.Sub(m.jobs) >= statusInterval)
	if f.Jobs {
		m.jobs, m.changed = m.now, false
		if f.Status = m.now.Sub(m.status) >= statusInterval; f.Status {
			m.status = m.now
		}
	}
	m.asking = true
	return []any{f}
}

// jobsToFetch returns the number of waiting jobs to fetch: those on the screen and some more, so
// that scrolling needs no request. If the jobs are filtered or sorted, it returns 0, which means
// all.
func (m *Model) jobsToFetch() int {
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

// arrange builds the rows: it filters and sorts the jobs.
func (m *Model) arrange() {
	m.rows = nil
	if m.picture.List != nil {
		m.rows = m.picture.List.Jobs
	}
	if m.filter != "" { // filter before grouping, so that a row counts only matching tasks
		m.rows = slices.DeleteFunc(slices.Clone(m.rows), func(j api.Job) bool { return !hasWords(j, m.filter) })
	}
	m.rows = api.ByState(m.rows, 0)
	if m.sort != byQueue {
		slices.SortStableFunc(m.rows, m.sort.compare(m.now))
	}
}

// hasWords reports whether every word of a filter occurs in a job's row.
func hasWords(j api.Job, filter string) bool {
	text := strings.ToLower(strings.Join([]string{idOf(j), j.User, j.Name, stateWord(j), j.Cause(words.Reader{})}, "\n"))
	for _, word := range strings.Fields(strings.ToLower(filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// keepVisible scrolls so that the selected job and GPU are visible. If the selected job is gone, it
// selects the job after it.
func (m *Model) keepVisible() {
	room := m.layout()
	gpus := len(m.picture.GPUs.GPUs)
	m.gpu = max(0, min(m.gpu, gpus-1))
	m.gpuTop = inView(m.gpuTop, m.gpu, gpus, room.gpus)
	at := m.selectedIndex()
	m.top = inView(m.top, at, len(m.rows), room.jobs)
	if m.selected = ""; len(m.rows) > 0 {
		m.selected, m.place = nameOf(&m.rows[at]), at
	}
}

// inView returns the first visible row. It moves the view as little as possible, so that the row
// with the given index is visible.
func inView(top, index, count, shown int) int {
	shown = max(1, shown)
	return max(0, index-shown+1, min(top, index, count-shown))
}

// selectedIndex returns the index of the selected job. If the job is gone, it returns the index
// that the job last had.
func (m *Model) selectedIndex() int {
	at := slices.IndexFunc(m.rows, func(j api.Job) bool { return nameOf(&j) == m.selected })
	if at < 0 {
		return max(0, min(m.place, len(m.rows)-1))
	}
	return at
}

// A sorting is an order in which the jobs are listed.
type sorting int

const (
	byQueue sorting = iota // running jobs, then the queue
	byUser
	byName
	byGPUs
	byTime
	sortings
)

func (s sorting) String() string {
	return [...]string{"queue", "user", "name", "GPUs", "time"}[s]
}

// compare returns the comparison function of a sorting.
// For GPUs and time, the largest values come first.
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
			return cmp.Compare(elapsed(b, now), elapsed(a, now))
		}
		return 0
	}
}
