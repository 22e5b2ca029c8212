package metrics

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Format is a text format.
type Format string

const (
	OpenMetrics Format = "openmetrics"
	Prometheus  Format = "prometheus" // version 0.0.4
)

// Formats returns all formats.
func Formats() []Format { return []Format{OpenMetrics, Prometheus} }

// ContentType returns the media type of a page.
func (f Format) ContentType() string {
	if f == Prometheus {
		return "text/plain; version=0.0.4; charset=utf-8"
	}
	return "application/openmetrics-text; version=1.0.0; charset=utf-8"
}

// A Page collects samples for one answer.
type Page struct {
	table   []Family
	samples map[string][]sample
}

type sample struct {
	labels []string // values of the labels, in the order in which the family lists the labels
	value  float64
	spread *Distribution // nil except in a histogram
}

// NewPage returns a page without samples.
func NewPage() *Page { return &Page{table: Families(), samples: map[string][]sample{}} }

// Down returns the page for a scheduler that cannot be reached.
func Down(format Format) []byte {
	p := NewPage()
	p.AddBool("gpusched_up", false)
	return p.Text(format)
}

func (p *Page) Add(name string, value float64, labels ...string) {
	p.put(name, sample{labels: labels, value: value})
}

// AddBool adds a sample with the value 1 or 0.
func (p *Page) AddBool(name string, yes bool, labels ...string) {
	p.Add(name, map[bool]float64{true: 1}[yes], labels...)
}

// AddTime adds a sample with a time as its value, unless the time is zero.
func (p *Page) AddTime(name string, at time.Time) {
	if !at.IsZero() {
		p.Add(name, float64(at.UnixMilli())/1000)
	}
}

// AddSpread adds a histogram.
func (p *Page) AddSpread(name string, d *Distribution) { p.put(name, sample{spread: d}) }

func (p *Page) put(name string, s sample) {
	at := slices.IndexFunc(p.table, func(f Family) bool { return f.Name == name })
	if at < 0 || len(p.table[at].Labels) != len(s.labels) {
		panic(fmt.Sprintf("metric %s{%v} is not in the table", name, s.labels))
	}
	p.samples[name] = append(p.samples[name], s)
}

// Text returns the text of the page in a format.
func (p *Page) Text(format Format) []byte {
	var b bytes.Buffer
	for i := range p.table {
		if f := &p.table[i]; len(p.samples[f.Name]) > 0 {
			f.head(&b, format)
			for _, s := range p.samples[f.Name] {
				f.write(&b, &s)
			}
		}
	}
	if format == OpenMetrics {
		b.WriteString("# EOF\n")
	}
	return b.Bytes()
}

// head writes the description of the family. The formats differ in the family's name: OpenMetrics
// omits the ending of counters and infos. The older format has neither infos nor units.
func (f *Family) head(b *bytes.Buffer, format Format) {
	name, kind, unit := f.FullName(), f.Type, f.Unit
	if format == Prometheus {
		name, unit = f.Exposed(), ""
		if kind == Info {
			kind = Gauge
		}
	}
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, escape(f.Help), name, kind)
	if unit != "" {
		fmt.Fprintf(b, "# UNIT %s %s\n", name, unit)
	}
}

func (f *Family) write(b *bytes.Buffer, s *sample) {
	if s.spread == nil {
		line(b, f.Exposed(), f.Labels, s.labels, "", s.value)
		return
	}
	name, below := f.FullName(), uint64(0)
	for i, n := range s.spread.counts {
		below += n
		le := "+Inf"
		if i < len(s.spread.bounds) {
			le = formatBound(s.spread.bounds[i])
		}
		line(b, name+"_bucket", f.Labels, s.labels, le, float64(below))
	}
	line(b, name+"_sum", f.Labels, s.labels, "", s.spread.sum)
	line(b, name+"_count", f.Labels, s.labels, "", float64(below))
}

// line writes one sample. The argument le is the upper bound of a histogram's bucket.
func line(b *bytes.Buffer, name string, labels, values []string, le string, value float64) {
	b.WriteString(name)
	sep := byte('{')
	pair := func(label, value string) {
		b.WriteByte(sep)
		b.WriteString(label + `="` + escape(value) + `"`)
		sep = ','
	}
	for i, label := range labels {
		pair(label, values[i])
	}
	if le != "" {
		pair("le", le)
	}
	if sep == ',' {
		b.WriteByte('}')
	}
	b.WriteByte(' ')
	b.WriteString(formatValue(value))
	b.WriteByte('\n')
}

// formatValue formats a value. Whole numbers get no exponent, even large ones.
func formatValue(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// formatBound formats a bucket's bound. Both formats use the canonical form of OpenMetrics: a bound
// that is spelled in two ways would be two series.
func formatBound(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

var escaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func escape(text string) string { return escaper.Replace(strings.ToValidUTF8(text, "\uFFFD")) }
