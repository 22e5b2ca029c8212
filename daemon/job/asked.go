package job

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Ask is one option of a job: its name, and its value as people write it.
type Ask struct{ Name, Value string }

// Asked returns the options of a job that everybody may see, in the order of the
// fields. The list always includes the number of GPUs and the priority.
func Asked(l *Label, r *Request) []Ask {
	list := asksIn(nil, reflect.ValueOf(l).Elem())
	list = asksIn(list, reflect.ValueOf(r).Elem())
	add := func(name, value string) {
		if value != "" {
			list = append(list, Ask{name, value})
		}
	}
	if a := r.Array; a != nil {
		add("array", a.ShortSpec())
	}
	list = append(list, listDependencies(r.After)...)
	tags := Each(slices.Sorted(maps.Keys(l.Tags)), func(key string) string { return key + "=" + l.Tags[key] })
	add("tags", strings.Join(tags, ","))
	if r.WarnSignal != 0 {
		add("signal", AimedSignal(r.WarnSignal, r.WarnMain)+"@"+r.WarnBefore.String())
	}
	return list
}

// Asked returns the options that a change sets. If the change removes an option, the option's value
// is "none".
func (c *Change) Asked() (list []Ask) {
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := f.Tag.Get("name")
		if name == "" || v.Field(i).IsNil() {
			continue
		}
		value := v.Field(i).Elem()
		ask := Ask{name, "none"}
		if f.Name == "GPUMilli" || f.Name == "Priority" || f.Name == "Preemptible" || !value.IsZero() {
			ask.Value = spellAsk(f, value.Interface())
		}
		list = append(list, ask)
	}
	switch {
	case c.After == nil:
	case len(*c.After) == 0:
		list = append(list, Ask{string(AfterStart), "none"})
	default:
		list = append(list, listDependencies(*c.After)...)
	}
	return list
}

// listDependencies lists a job's dependencies by kind.
func listDependencies(after []Dependency) (list []Ask) {
	for _, kind := range dependencyKinds {
		var ids []string
		for _, d := range after {
			if d.Kind == kind {
				ids = append(ids, d.Job.String())
			}
		}
		if ids != nil {
			list = append(list, Ask{string(kind), strings.Join(ids, ",")})
		}
	}
	return list
}

// asksIn adds to a list those fields of v that are options and are set.
func asksIn(list []Ask, v reflect.Value) []Ask {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := f.Tag.Get("name")
		always := f.Name == "GPUMilli" || f.Name == "Priority"
		value := reflect.Indirect(v.Field(i))
		if name == "" || !value.IsValid() || value.IsZero() && !always {
			continue
		}
		list = append(list, Ask{name, spellAsk(f, value.Interface())})
	}
	return list
}

// spellAsk returns a value as people write it.
func spellAsk(f reflect.StructField, v any) string {
	switch v := v.(type) {
	case int64:
		return Size(v).String()
	case Priority:
		text, _ := v.MarshalText() // with its class and its number
		return string(text)
	case []int:
		return FormatGPUList(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	case int:
		switch f.Tag.Get("type") {
		case "gpus":
			return GPUs(v).String()
		case "percent":
			return strconv.Itoa(v) + "%"
		}
	}
	return fmt.Sprint(v)
}

// Update says which options of a job were changed, and by whom.
type Update struct {
	By    string
	Edits []Edit
}

// The names of changes of a job's host memory: of the limit, and of the part that is lent.
const (
	EditMem  = "mem"
	EditLent = "mem-lent"
)

// Edit is one changed option. An empty value means that the option is not set.
type Edit struct{ Name, Before, Now string }

// Edits returns the options whose values differ.
func Edits(before, now []Ask) (list []Edit) {
	find := func(in []Ask, name string) string {
		if i := slices.IndexFunc(in, func(w Ask) bool { return w.Name == name }); i >= 0 {
			return in[i].Value
		}
		return ""
	}
	for _, w := range now {
		if was := find(before, w.Name); was != w.Value {
			list = append(list, Edit{w.Name, was, w.Value})
		}
	}
	for _, w := range before {
		if find(now, w.Name) == "" {
			list = append(list, Edit{w.Name, w.Value, ""})
		}
	}
	return list
}
