package job

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Change is an update of a queued job. A nil field leaves the option as it is. Any other field sets
// the field with the same name in Label, Request or Request.Array. With a zero Begin, the job may
// start at once. An empty After removes all dependencies.
type Change struct {
	GPUMilli    *int   `json:"gpu_milli,omitempty" name:"gpus" type:"gpus" short:"g" placeholder:"N" group:"needs"`
	GPUMemBytes *int64 `json:"gpu_mem_bytes,omitempty" name:"gpu-mem" type:"gpu-mem" placeholder:"SIZE" group:"needs"`
	MemBytes    *int64 `json:"mem_bytes,omitempty" name:"mem" type:"size" short:"m" placeholder:"SIZE" group:"needs"`
	CPUs        *int   `json:"cpus,omitempty" name:"cpus" short:"c" placeholder:"N" group:"needs"`
	TimeLimit   *Span  `json:"time_limit_seconds,omitempty" name:"time" type:"span-or-none" short:"t" placeholder:"TIME" group:"needs"`

	Priority    *Priority `json:"priority,omitempty" name:"priority" type:"priority" short:"p" placeholder:"P" group:"life"`
	Preemptible *bool     `json:"preemptible,omitempty" name:"preemptible" negatable:"" group:"life"`
	Retries     *int      `json:"retries,omitempty" name:"retries" placeholder:"N" group:"life"`

	Begin      *time.Time    `json:"begin,omitempty" name:"begin" type:"moment" placeholder:"WHEN" group:"queue"`
	After      *[]Dependency `json:"after,omitempty" kong:"-"`
	ArrayLimit *int          `json:"array_limit,omitempty" name:"array-limit" placeholder:"N" group:"queue"`

	MaxFailures *int  `json:"max_failures,omitempty" name:"max-failures" placeholder:"N" group:"queue"`
	Lane        *Lane `json:"lane,omitempty" name:"lane" type:"lane-or-none" placeholder:"NAME[=N]" group:"queue"`

	Name    *string `json:"name,omitempty" name:"name" short:"n" placeholder:"NAME" group:"label"`
	Comment *string `json:"comment,omitempty" name:"comment" placeholder:"TEXT" group:"label"`
}

// Err reports all errors in the form of a change. It does not check whether the changed job can
// still run: the scheduler does.
func (c *Change) Err() error {
	var p Problems
	s := Submission{Label: Label{Name: "x"}, Request: Request{GPUMilli: WholeGPU}}
	if c.MaxFailures != nil {
		s.Request.Array = &Array{Ranges: []Range{{0, 0, 1}}}
	}
	c.Apply(&s)
	s.Label.check(&p)
	s.Request.check(&p)
	if c.ArrayLimit != nil && (*c.ArrayLimit < 0 || *c.ArrayLimit > MaxTasks) {
		p.add("usage/array-limit", MaxTasks)
	}
	if *c == (Change{}) {
		p.add("usage/no-change")
	}
	return p.Err()
}

// Others returns the options that a change sets, except those of the given fields. It returns their
// command-line names.
func (c *Change) Others(fields ...string) (options []string) {
	change := reflect.ValueOf(c).Elem()
	for i := range change.NumField() {
		f := change.Type().Field(i)
		if !change.Field(i).IsNil() && !slices.Contains(fields, f.Name) {
			options = append(options, cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name)))
		}
	}
	return options
}

// Apply applies the change to a submission.
func (c *Change) Apply(s *Submission) {
	r := &s.Request
	label, request := reflect.ValueOf(&s.Label).Elem(), reflect.ValueOf(r).Elem()
	change := reflect.ValueOf(c).Elem()
	for i := range change.NumField() {
		value, name := change.Field(i), change.Type().Field(i).Name
		if value.IsNil() || name == "ArrayLimit" {
			continue
		}
		field := request.FieldByName(name)
		if !field.IsValid() {
			field = label.FieldByName(name)
		}
		field.Set(value.Elem())
	}
	if r.Array != nil && c.ArrayLimit != nil {
		r.Array.Limit = *c.ArrayLimit
	}
	if c.Preemptible != nil {
		r.ImpliedStop = false
	}
	if c.MemBytes != nil {
		r.DefaultedMem = false
	}
}
