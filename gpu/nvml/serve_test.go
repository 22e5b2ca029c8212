package nvml

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/gpu"
)

// A scriptedReader is a Reader whose Snapshots have only a seq. It needs a restart after a given
// number of Snapshots.
type scriptedReader struct {
	spentAfter, answered, looks int
	devices                     []gpu.Device
}

func (s *scriptedReader) Snapshot(seq uint64) gpu.Snapshot {
	s.answered++
	return gpu.Snapshot{Seq: seq, Devices: s.devices}
}

func (s *scriptedReader) Look(seq uint64) gpu.Snapshot {
	s.looks++
	return s.Snapshot(seq)
}

func (s *scriptedReader) NeedsRestart() bool {
	return s.spentAfter > 0 && s.answered >= s.spentAfter
}

// Each request gets one answer, in order, until the end (invariants 7 and 8).
func TestServe(t *testing.T) {
	long := strings.Repeat("x", 3*MaxRequestBytes)
	tests := []struct {
		name, in   string
		spentAfter int
		seqs       []uint64
		talk       []string
	}{
		{"nothing", "", 0, nil, nil},
		{"two", "{\"op\":\"sample\",\"seq\":3}\n{\"op\":\"sample\",\"seq\":4}\n", 0, []uint64{3, 4}, nil},
		{"a look between two", "{\"op\":\"sample\",\"seq\":3}\n{\"op\":\"look\",\"seq\":4}\n{\"op\":\"sample\",\"seq\":5}\n", 0, []uint64{3, 4, 5}, nil},
		{"cut off", "{\"op\":\"sample\",\"seq\":3}\n{\"op\":\"sample\",\"seq\":4}", 0, []uint64{3}, nil},
		{"unknown op", "{\"op\":\"reset\",\"seq\":1}\n{\"op\":\"sample\",\"seq\":2}\n", 0, []uint64{2}, []string{`unknown op "reset"`}},
		{"not json", "hello\n\n{\"op\":\"sample\",\"seq\":2}\n", 0, []uint64{2}, []string{`request "hello\n"`, `request "\n"`}},
		{"too long", long + "\n{\"op\":\"sample\",\"seq\":2}\n", 0, []uint64{2}, []string{"more than 4096 bytes"}},
		{"too long and cut off", long, 0, nil, nil},
		{"spent", "{\"op\":\"sample\",\"seq\":3}\n{\"op\":\"sample\",\"seq\":4}\n", 1, []uint64{3}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, talk bytes.Buffer
			r := &scriptedReader{spentAfter: tt.spentAfter}
			if err := Serve(strings.NewReader(tt.in), &out, &talk, r); err != nil {
				t.Fatal(err)
			}
			if want := strings.Count(tt.in, `"look"`); r.looks != want {
				t.Errorf("%d looks, want %d", r.looks, want)
			}
			wantSeqs(t, out.Bytes(), tt.seqs)
			for _, w := range tt.talk {
				if !strings.Contains(talk.String(), w) {
					t.Errorf("no %q in %q", w, talk.String())
				}
			}
			if got := strings.Count(talk.String(), "\n"); got != len(tt.talk) {
				t.Errorf("%d lines of talk, want %d: %q", got, len(tt.talk), talk.String())
			}
		})
	}
}

func wantSeqs(t *testing.T, out []byte, want []uint64) {
	t.Helper()
	var got []uint64
	for line := range bytes.Lines(out) {
		s, err := gpu.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s.Seq)
	}
	if len(got) != len(want) {
		t.Fatalf("answers %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("answers %v, want %v", got, want)
		}
	}
}

func TestServeAnswersNonsenseWithAProblem(t *testing.T) {
	var out bytes.Buffer
	in := strings.NewReader("{\"op\":\"sample\",\"seq\":9}\n")
	if err := Serve(in, &out, io.Discard, &scriptedReader{devices: []gpu.Device{{Health: "fine"}}}); err != nil {
		t.Fatal(err)
	}
	s, err := gpu.Decode(out.Bytes())
	if err != nil || s.Seq != 9 || s.Problem != gpu.ProblemInitFailed || !strings.Contains(s.Detail, "make no sense") {
		t.Errorf("got %+v, %v", s, err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error)  { return 0, errors.New("out of order") }
func (broken) Write([]byte) (int, error) { return 0, errors.New("out of order") }

func TestServeReportsABrokenPipe(t *testing.T) {
	if err := Serve(broken{}, io.Discard, io.Discard, &scriptedReader{}); err == nil {
		t.Error("an input error is not returned")
	}
	if err := Serve(strings.NewReader("{\"op\":\"sample\",\"seq\":9}\n"), broken{}, io.Discard, &scriptedReader{}); err == nil {
		t.Error("an output error is not returned")
	}
}

// Any input is answered line by line (invariant 7).
func FuzzServe(f *testing.F) {
	f.Add([]byte("{\"op\":\"sample\",\"seq\":3}\nhello\n"))
	f.Add(bytes.Repeat([]byte("x"), 2*MaxRequestBytes))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out, talk bytes.Buffer
		r := &scriptedReader{}
		if err := Serve(bytes.NewReader(in), &out, &talk, r); err != nil {
			t.Fatal(err)
		}
		if got := bytes.Count(out.Bytes(), []byte("\n")); got != r.answered {
			t.Errorf("%d lines for %d answers", got, r.answered)
		}
		if lines, said := bytes.Count(in, []byte("\n")), r.answered+strings.Count(talk.String(), "\n"); said != lines {
			t.Errorf("%d lines in, %d accounted for", lines, said)
		}
	})
}
