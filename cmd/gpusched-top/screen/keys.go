package screen

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// maxFilter is the maximum length of a filter in characters.
const maxFilter = 60

// key handles a key. The key goes to the first active one of these: the question, the filter that
// is being typed, help, the pane, the tables.
func (m *Model) key(k Key) []any {
	switch {
	case k.Name == "ctrl+c":
		return m.leave()
	case k.Name == "ctrl+z":
		return []any{Suspend{}}
	case m.question != nil:
		return m.answer(k)
	case m.typing:
		m.typeFilter(k)
		m.keepVisible()
		return m.ask()
	case m.help:
		m.helpKey(k)
		return nil
	case m.pane != nil:
		return m.paneKey(k)
	}
	m.note = ""
	effects := m.tableKey(k)
	m.keepVisible()
	return append(effects, m.ask()...)
}

func (m *Model) leave() []any {
	if m.pane != nil {
		return []any{Close{m.pane.number}, Quit{}}
	}
	return []any{Quit{}}
}

// answer handles a key while a question is open. Only y means yes.
func (m *Model) answer(k Key) []any {
	q := m.question
	m.question = nil
	if k.Text != "y" && k.Text != "Y" {
		m.note, m.bad = "nothing was done", false
		return nil
	}
	m.note, m.bad = "sent …", false
	return []any{q.yes}
}

func (m *Model) typeFilter(k Key) {
	switch {
	case k.Name == "enter":
		m.typing = false
	case k.Name == "esc":
		m.typing, m.filter = false, ""
	case k.Name == "backspace":
		_, n := utf8.DecodeLastRuneInString(m.filter)
		m.filter = m.filter[:len(m.filter)-n]
	case k.Name == "ctrl+u":
		m.filter = ""
	case k.Text != "" && utf8.RuneCountInString(m.filter) < maxFilter:
		m.filter += k.Text
	}
	m.top = 0
	m.fetchMore()
	m.arrange()
}

// tableKey handles a key while the tables are active.
func (m *Model) tableKey(k Key) []any {
	switch k.Name {
	case "q", "Q":
		return m.leave()
	case "esc":
		if m.filter == "" {
			return m.leave()
		}
		m.filter = ""
		m.arrange()
	case "tab", "shift+tab":
		m.onGPUs = !m.onGPUs && len(m.picture.GPUs.GPUs) > 0
	case "up", "k", "down", "j", "pgup", "pgdown", "home", "end", "g", "G", "ctrl+b", "ctrl+f":
		m.move(k.Name)
	case "enter", "s":
		return m.openPane("show")
	case "w":
		return m.openPane("why")
	case "l":
		return m.openPane("logs", "-f")
	case "c":
		m.askCancel()
	case "p":
		m.askPause()
	case "/":
		m.typing = true
	case "o":
		m.sort = (m.sort + 1) % sortings
		m.fetchMore()
		m.arrange()
	case "u":
		m.Mine = !m.Mine
		m.refresh()
	case "r", "ctrl+l":
		m.refresh()
	case "?", "h":
		m.help = true
	}
	return nil
}

// move selects another job or GPU.
func (m *Model) move(key string) {
	at, count, page := m.selectedIndex(), len(m.rows), m.layout().jobs
	if m.onGPUs {
		at, count, page = m.gpu, len(m.picture.GPUs.GPUs), m.layout().gpus
	}
	switch key {
	case "up", "k":
		at--
	case "down", "j":
		at++
	case "pgup", "ctrl+b":
		at -= max(1, page-1)
	case "pgdown", "ctrl+f":
		at += max(1, page-1)
	case "home", "g":
		at = 0
	case "end", "G":
		at = count - 1
	}
	at = max(0, min(at, count-1))
	switch {
	case m.onGPUs:
		m.gpu = at
	case count > 0:
		m.selected = nameOf(&m.rows[at])
	}
	m.keepVisible()
	// Fetch the rows below the last one in the picture.
	if !m.onGPUs && m.jobsToFetch() > m.picture.Asked.Waiting {
		m.fetchMore()
	}
}

// job returns the selected job.
func (m *Model) job() (api.Job, bool) {
	if len(m.rows) == 0 {
		return api.Job{}, false
	}
	return m.rows[m.selectedIndex()], true
}

// tasksOf returns the ids of the tasks that share a row.
func (m *Model) tasksOf(row *api.Job) (ids []string) {
	for i := range m.picture.List.Jobs {
		j := &m.picture.List.Jobs[i]
		if j.Task != nil && j.Task.Array == row.Task.Array && j.StateWord() == row.StateWord() && hasWords(*j, m.filter) {
			ids = append(ids, j.Called())
		}
	}
	return ids
}

func (m *Model) askCancel() {
	j, ok := m.job()
	if !ok {
		return
	}
	ids, text, runs := []string{j.Called()}, "Cancel job "+j.Called(), ", which is running"
	if j.Alike > 1 {
		ids = m.tasksOf(&j)
		text, runs = fmt.Sprintf("Cancel %d tasks of job %s", len(ids), j.Called()), ", which are running"
	}
	if j.Name != "" {
		text += fmt.Sprintf(" (%s)", term.Cut(term.Clean(j.Name), 40))
	}
	if j.UID != m.UID {
		text += " of " + j.User
	}
	if j.Array != nil {
		text += ", the whole array"
	}
	if j.State.Live() {
		text += runs
	}
	m.question = &question{text: text + "?", yes: Cancel{ids}}
}

func (m *Model) askPause() {
	gpus := m.picture.GPUs.GPUs
	if !m.onGPUs || m.gpu >= len(gpus) {
		m.note, m.bad = "press Tab to select a GPU, then p to pause it", false
		return
	}
	g := gpus[m.gpu]
	switch {
	case g.Drain || g.State == job.GPUDrained || g.State == job.GPUDraining:
		m.note, m.bad = fmt.Sprintf("GPU %d is drained: 'gpusched gpu undrain %d' puts it back into service", g.Index, g.Index), true
	case g.Paused:
		m.question = &question{fmt.Sprintf("Resume GPU %d, so that new jobs get it?", g.Index), Control{GPU: g.Index}}
	default:
		m.question = &question{fmt.Sprintf("Pause GPU %d, so that no new job gets it?", g.Index), Control{GPU: g.Index, Pause: true}}
	}
}

// showOutcome shows the outcome of an action and requests a new picture.
func (m *Model) showOutcome(d Done) {
	m.note, m.bad = d.Text, d.Err != nil
	if d.Err != nil {
		m.note = strings.TrimSpace(d.Text + " " + d.Err.Error())
	}
	m.refresh()
}
