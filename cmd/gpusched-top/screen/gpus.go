package screen

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// gpuLayout selects the columns of the GPU table.
type gpuLayout struct {
	model, spark, bar, amount int // column widths; 0 hides a column
	temp, power               bool
}

// gpuWidths chooses columns that fit the width of the screen. The rest of a line shows the jobs.
func (m *Model) gpuWidths() (l gpuLayout) {
	model := 5
	for i := range m.picture.GPUs.GPUs {
		model = max(model, min(18, term.Columns(shortModel(m.picture.GPUs.GPUs[i].Name))))
	}
	switch w := m.width; {
	case w >= 140:
		return gpuLayout{model: model, spark: 30, bar: 24, amount: 9, temp: true, power: true}
	case w >= 110:
		return gpuLayout{model: min(model, 16), spark: 20, bar: 16, amount: 9, temp: true, power: true}
	case w >= 80:
		return gpuLayout{model: min(model, 9), spark: 12, bar: 10, amount: 7, temp: true, power: true}
	case w >= 64:
		return gpuLayout{spark: 12, bar: 10, amount: 7, temp: true}
	case w >= 50:
		return gpuLayout{spark: 8, bar: 8, amount: 7}
	}
	return gpuLayout{bar: 8, amount: 7}
}

// hiddenColumns names the columns that do not fit on the screen.
func (m *Model) hiddenColumns() string {
	var names []string
	l := m.gpuWidths()
	add := func(cut bool, name string) {
		if cut {
			names = append(names, name)
		}
	}
	add(l.model == 0, "MODEL")
	add(l.spark == 0, "60 S")
	add(!l.temp, "TEMP")
	add(!l.power, "POWER")
	for _, c := range m.jobColumns() {
		add(m.width < c.need, c.title)
	}
	return strings.Join(names, " ")
}

// writeGPUs draws the GPU table with its heading.
func (m *Model) writeGPUs(lines int) Frame {
	gpus := m.picture.GPUs.GPUs
	at := m.gpuWidths()
	head := m.line()
	head.addCell(dim, "GPU", 3, true)
	title := func(text string, width int, right bool) {
		if width > 0 {
			head.addText(plain, " ")
			head.addCell(dim, text, width, right)
		}
	}
	title("MODEL", at.model, false)
	title("UTIL", 4, true)
	title("LAST 60 S", at.spark, false)
	title("MEMORY", at.bar, false)
	title("USED/OF", at.amount, true)
	title("TEMP", width(at.temp, 4), true)
	title("POWER", width(at.power, 5), true)
	title("JOBS", 4, false)
	first := min(m.gpuTop, len(gpus))
	last := min(first+lines, len(gpus))
	if last-first < len(gpus) {
		head.addRight(dim, fmt.Sprintf("%d-%d of %d", first+1, last, len(gpus)))
	}
	out := Frame{head.spans}
	for i := first; i < last; i++ {
		out = append(out, m.gpuLine(gpus[i], at, m.onGPUs && i == m.gpu))
	}
	return out
}

func width(shown bool, n int) int {
	if !shown {
		return 0
	}
	return n
}

func (m *Model) gpuLine(g api.GPU, at gpuLayout, chosen bool) Line {
	l := m.line()
	if chosen {
		l.all = reverse
	}
	cell := func(style term.Style, text string, width int, right bool) {
		if width > 0 {
			l.addText(plain, " ")
			l.addCell(style, text, width, right)
		}
	}
	l.addCell(bold, strconv.Itoa(g.Index), 3, true)
	cell(plain, fitModel(shortModel(g.Name), at.model), at.model, false)
	cell(utilStyle(g.UtilPercent), known(int64(g.UtilPercent), "%"), 4, true)
	cell(term.Green, sparkline(m.points[g.UUID], m.now, at.spark, m.ASCII), at.spark, false)
	if at.bar > 0 {
		l.addText(plain, " ")
		m.memoryBar(l, g, at.bar)
	}
	cell(plain, formatMemory(g), at.amount, true)
	cell(tempStyle(g.TempC), known(int64(g.TempC), "C"), width(at.temp, 4), true)
	cell(plain, power(g), width(at.power, 5), true)
	l.addText(plain, " ")
	if words, style := gpuWords(g, m.now); words != "" {
		l.addText(style, words)
		if len(g.Shares) > 0 {
			l.addText(plain, "; ")
		}
	}
	m.jobsOn(l, g)
	return l.fill()
}

func known(n int64, unit string) string {
	if n < 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10) + unit
}

func power(g api.GPU) string {
	if g.PowerMilliW < 0 {
		return "-"
	}
	return strconv.FormatInt((g.PowerMilliW+500)/1000, 10) + "W"
}

func utilStyle(n int) term.Style {
	if n < 5 {
		return dim
	}
	return term.Green
}

func tempStyle(n int) term.Style {
	switch {
	case n >= 90:
		return term.Red
	case n >= 80:
		return term.Yellow
	}
	return plain
}

// formatMemory formats the used and the total memory, both in the unit of the total.
func formatMemory(g api.GPU) string {
	const gib = 1 << 30
	total := g.MemTotalBytes
	switch {
	case total == 0 && g.Name != "":
		return "host's"
	case total == 0:
		return "-"
	case total < gib:
		return fmt.Sprintf("%d/%dM", g.MemUsedBytes>>20, total>>20)
	}
	return fmt.Sprintf("%d/%dG", (g.MemUsedBytes+gib/2)/gib, (total+gib/2)/gib)
}

// makers are the prefixes that shortModel removes.
var makers = []string{"NVIDIA ", "GeForce ", "Tesla ", "Quadro "}

// shortModel returns the model's name without its maker.
func shortModel(name string) string {
	for _, word := range makers {
		name = strings.TrimPrefix(name, word)
	}
	return name
}

// fitModel drops words from the end of a model's name until it fits.
func fitModel(name string, width int) string {
	for term.Columns(name) > width {
		at := strings.LastIndexAny(name, " -")
		if at <= 0 {
			break
		}
		name = name[:at]
	}
	return name
}

// jobBlocks are the blocks of jobs in a memory bar. Jobs alternate between the two. Foreign
// processes, other use and free memory follow.
var jobBlocks = []string{"█", "▓"}

// jobStyle returns the colour of a job. It is the same on all GPUs of the job.
func jobStyle(id job.ID) term.Style {
	colours := []term.Style{term.Green, cyan, blue, magenta}
	return colours[uint64(id)%uint64(len(colours))]
}

const (
	foreignBlock = "▒"
	otherBlock   = "▚"
	freeBlock    = "░"
)

// memoryBar draws the memory that jobs use, the memory that foreign processes use, and the rest.
// Every part in use gets at least one column while columns are left.
func (m *Model) memoryBar(l *line, g api.GPU, columns int) {
	if g.MemTotalBytes == 0 {
		l.addText(plain, strings.Repeat(" ", columns))
		return
	}
	left, used := columns, int64(g.MemUsedBytes)
	part := func(style term.Style, block string, bytes int64) {
		bytes = min(bytes, used)
		n := int((bytes*int64(columns) + int64(g.MemTotalBytes)/2) / int64(g.MemTotalBytes))
		if bytes > 0 {
			n = max(1, n)
		}
		n = min(n, left)
		left, used = left-n, used-max(0, bytes)
		l.addText(style, strings.Repeat(block, n))
	}
	for i, s := range g.Shares {
		part(jobStyle(s.Job), jobBlocks[i%len(jobBlocks)], max(0, s.UsedBytes))
	}
	part(term.Yellow, foreignBlock, g.Foreign().Bytes+max(0, g.UnlistedBytes))
	// The small amount that the driver itself uses on each GPU gets no column.
	if used > int64(g.MemTotalBytes)/int64(2*columns) {
		part(dim, otherBlock, used)
	}
	l.addText(dim, strings.Repeat(freeBlock, left))
}

// gpuWords says why jobs cannot use a GPU. It returns "" if they can.
func gpuWords(g api.GPU, now time.Time) (string, term.Style) {
	detail := g.Detail(words.Reader{})
	word, style := string(g.State), term.Yellow
	switch g.State {
	case job.GPUFree, job.GPUBusy, job.GPUShared:
		word = ""
	case job.GPULost, job.GPUSick, job.GPUSuspect:
		style = term.Red
	}
	if g.Paused {
		if g.PausedReason != "" {
			detail = g.PausedReason
		}
		if word == "" {
			word = "paused"
			if g.Drain {
				word = "drained"
			}
		}
		if !g.PausedUntil.IsZero() {
			word += " for " + term.Age(g.PausedUntil.Sub(now))
		}
	}
	if word != "" && detail != "" {
		word += " (" + detail + ")"
	}
	return word, style
}

// jobsOn names the jobs that have a GPU, and the users of its foreign processes.
func (m *Model) jobsOn(l *line, g api.GPU) {
	for i, s := range g.Shares {
		if i > 0 {
			l.addText(plain, ", ")
		}
		name := s.Called
		if name == "" {
			name = s.Job.String()
		}
		l.addText(jobStyle(s.Job), name)
		if user := m.owners[s.Job]; user != "" {
			l.addText(plain, " "+user)
		}
		if s.Milli < job.WholeGPU {
			l.addText(plain, ":"+job.FormatGPUs(s.Milli))
		}
	}
	f := g.Foreign()
	if f.Count == 0 && g.UnlistedBytes == 0 {
		return
	}
	if len(g.Shares) > 0 {
		l.addText(plain, ", ")
	}
	if f.Count == 0 {
		f.Users = []string{"unlisted"}
	}
	l.addText(term.Yellow, "outside: "+strings.Join(f.Users, ","))
}

// gpuCounts counts the GPUs in each state, usable ones first.
func gpuCounts(gpus []api.GPU) string {
	counts := map[string]int{}
	for _, g := range gpus {
		word := string(g.State)
		if g.State == job.GPUFree && (g.Foreign().Count > 0 || g.UnlistedBytes > 0) {
			word = "in use"
		}
		counts[word]++
	}
	var parts []string
	order := []string{string(job.GPUFree), "in use"}
	for _, state := range job.GPUStates()[1:] {
		order = append(order, string(state))
	}
	for _, word := range order {
		if counts[word] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[word], word))
		}
	}
	return strings.Join(parts, ", ")
}
