package screen

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// filledWith replaces every string in a picture with the given text.
func filledWith(p Picture, text string) Picture {
	for _, answer := range []any{&p.GPUs, p.List, p.Status, p.Own} {
		replace(reflect.ValueOf(answer), text)
	}
	p.List.Drain = &api.Drain{By: text, Reason: text, Sentence: text}
	p.List.Jobs[0].State, p.List.Jobs[1].State, p.List.Jobs[5].State = job.Running, job.Queued, job.Queued
	p.List.Jobs[6].Array = &api.Array{Spec: text}
	p.GPUs.GPUs[2].State = job.GPUSick
	return p
}

// replace sets every string inside a value to the given text.
func replace(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*time.Location]() {
			replace(v.Elem(), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				replace(v.Field(i), text)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			replace(v.Index(i), text)
		}
	case reflect.String:
		v.SetString(text)
	}
}

// Invariants 1 and 2: whatever the scheduler answers and whatever a command prints, a frame has no
// control characters, and no line is wider than the screen.
func FuzzFrame(f *testing.F) {
	f.Add("\x1b[31m\x1b]52;c;ZXZpbA==\x07", 80, 24, "ab/\x1b")
	f.Add("größe-模型\u202e\u200d\u009b31m", 40, 10, "gsq?jwl")
	f.Add("\xff\xfe\n\r\t", 20, 6, "tjpycy")
	f.Add("👩‍🔬e\u0301", 1, 1, "o")
	f.Fuzz(func(t *testing.T, text string, width, height int, keys string) {
		width, height = 1+abs(width)%200, 1+abs(height)%80
		for _, ascii := range []bool{false, true} {
			m := screenOf(filledWith(lab(), text), width, height, Setting{ASCII: ascii})
			check := func() {
				frame := m.Frame()
				checkFrame(t, frame, width, height)
				if styled := unstyled(frame.Styled(true)); strings.ContainsRune(styled, '\x1b') {
					t.Fatalf("a foreign sequence: %q", styled)
				}
			}
			check()
			for _, r := range keys[:min(len(keys), 20)] {
				name := map[rune]string{'t': "tab", '\x1b': "esc", '\r': "enter", 'G': "end"}[r]
				if name == "" {
					name = string(r)
				}
				for _, effect := range m.Update(Key{Name: name, Text: string(r)}) {
					if o, ok := effect.(Open); ok {
						m.Update(Printed{Pane: o.Pane, Lines: strings.Split(text, "\n"), Last: text})
					}
				}
				check()
			}
			m.Update(Done{Text: text, Err: errors.New(text)})
			check()
			m.Update(Failed{At: at, Err: errors.New(text)})
			check()
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }

// unstyled removes only the sequences that Styled adds.
func unstyled(text string) string {
	for _, s := range []term.Style{bold, dim, reverse, cyan, blue, magenta, term.Red, term.Green, term.Yellow, "0"} {
		text = strings.ReplaceAll(text, "\x1b["+string(s)+"m", "")
	}
	return text
}
