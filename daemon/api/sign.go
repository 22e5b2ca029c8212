package api

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// What of an answer says whose its jobs and GPUs are, by the names of fields, of all types or of one.
var signed = map[string]func(host, text string) string{
	"Job.Host":        func(host, _ string) string { return host },
	"GPU.Host":        func(host, _ string) string { return host },
	"HostAnswer.Host": func(host, _ string) string { return host },
	"Called":          nameCalled,
	"Task.Name":       func(_, name string) string { return named(name) },
	"Sentence":        NameJobs,
	"Why":             NameJobs,
	"Detail":          NameJobs,
	"StateDetail":     NameJobs,
	"ProblemDetail":   NameJobs,
	"Check.Name":      NameJobs,
}

// nameCalled is what a job of a machine is called; of nothing there is no word.
func nameCalled(host, called string) string {
	if called == "" {
		return ""
	}
	return host + ":" + named(called)
}

// named is the name of a job, "12" or "7_3"; of what is none "?". Whoever cancels what a list of several machines
// prints must not be given a job of another machine by one of them.
func named(text string) string {
	id, task, isTask := strings.Cut(text, "_")
	odd := func(r rune) bool { return r < '0' || r > '9' }
	if id == "" || strings.ContainsFunc(id, odd) || isTask && (task == "" || strings.ContainsFunc(task, odd)) {
		return "?"
	}
	return text
}

// checkNames refuses lines that are no names of jobs, of another machine.
func (c *Client) checkNames(lines []byte) error {
	for line := range strings.Lines(string(lines)) {
		if name := strings.TrimSuffix(line, "\n"); c.Host != "" && named(name) != name {
			return &Error{Code: CodeInternal, Message: fmt.Sprintf("the scheduler's answer has the line %q", name)}
		}
	}
	return nil
}

// signer writes the name of a machine on the jobs and GPUs of its answers, whatever these are. It looks
// through a type once.
type signer struct{ marks sync.Map } // of reflect.Type, mark

// mark writes the name into a value; nil: there is no place for it.
type mark func(v reflect.Value, host string)

// sign writes the name of the machine on what an answer points to.
func (c *Client) sign(answer any) {
	if c.Host == "" {
		return
	}
	if m := c.signer.of(reflect.TypeOf(answer)); m != nil {
		m(reflect.ValueOf(answer), c.Host)
	}
}

func (s *signer) of(t reflect.Type) mark {
	if m, known := s.marks.Load(t); known {
		return m.(mark)
	}
	m := s.find(t)
	s.marks.Store(t, m)
	return m
}

func (s *signer) find(t reflect.Type) mark {
	switch t.Kind() {
	case reflect.Pointer:
		if in := s.of(t.Elem()); in != nil {
			return func(v reflect.Value, host string) {
				if !v.IsNil() {
					in(v.Elem(), host)
				}
			}
		}
	case reflect.Slice:
		if in := s.of(t.Elem()); in != nil {
			return func(v reflect.Value, host string) {
				for i := range v.Len() {
					in(v.Index(i), host)
				}
			}
		}
	case reflect.Struct:
		return s.inStruct(t)
	}
	return nil
}

func (s *signer) inStruct(t reflect.Type) mark {
	var all []mark
	for i := range t.NumField() {
		f := t.Field(i)
		write, is := signed[t.Name()+"."+f.Name]
		if !is {
			write, is = signed[f.Name]
		}
		if is && f.Type.Kind() == reflect.String {
			all = append(all, func(v reflect.Value, host string) {
				in := v.Field(i)
				in.SetString(write(host, in.String()))
			})
		} else if in := s.of(f.Type); in != nil && f.IsExported() {
			all = append(all, func(v reflect.Value, host string) { in(v.Field(i), host) })
		}
	}
	if all == nil {
		return nil
	}
	return func(v reflect.Value, host string) {
		for _, m := range all {
			m(v, host)
		}
	}
}

// own is a list of jobs as the daemon of a machine knows them: what it was signed with is taken off again.
func (c *Client) own(ids string) string {
	if c.Host == "" || !strings.Contains(ids, ":") {
		return ids
	}
	parts := strings.Split(ids, ",")
	for i := range parts {
		parts[i] = strings.TrimPrefix(parts[i], c.Host+":")
	}
	return strings.Join(parts, ",")
}
