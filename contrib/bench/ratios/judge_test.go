package ratios

import (
	"slices"
	"strings"
	"testing"
)

func made(part, figure string, ratio, low, high float64) Row {
	return Row{Part: part, Figure: figure, Against: "bare", Interval: Interval{ratio, low, high}, Rounds: 60}
}

// Invariants 2 and 3, by runs that are made up.
func TestJudge(t *testing.T) {
	accepted := made("start", "start", 2, 1.9, 2.1)
	rate := made("start", "rate", .65, .6, .7)
	rate.More = true
	more := func(r Row) Row { r.More = true; return r }
	for _, c := range []struct {
		name string
		was  Row
		now  Row
		want Verdict
	}{
		{"the same", accepted, accepted, Same},
		{"worse", accepted, made("start", "start", 2.4, 2.3, 2.5), Worse},
		{"better", accepted, made("start", "start", 1.5, 1.4, 1.6), Better},
		{"worse, within its own noise", accepted, made("start", "start", 2.4, 2.05, 2.9), Same},
		{"better, within its own noise", accepted, made("start", "start", 1.7, 1.5, 1.95), Same},
		{"worse for sure, by next to nothing", made("start", "start", 2, 2, 2), made("start", "start", 2.08, 2.07, 2.09), Same},
		{"without noise, worse", made("start", "start", 100, 100, 100), made("start", "start", 106, 106, 106), Worse},
		{"a rate falls", rate, more(made("start", "rate", .5, .45, .55)), Worse},
		{"a rate rises", rate, more(made("start", "rate", .9, .85, .95)), Better},
		{"a rate falls within the noise", rate, more(made("start", "rate", .58, .5, .65)), Same},
	} {
		got := Judge(Record{Rows: []Row{c.was}}, Record{Parts: []string{"start"}, Rows: []Row{c.now}})
		if len(got) != 1 || got[0].Verdict != c.want || got[0].Fails() != (c.want == Worse) {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

func TestMissingAndNew(t *testing.T) {
	accepted := Record{Rows: []Row{made("start", "start", 2, 1.9, 2.1), made("queue", "list", 3, 2.9, 3.1)}}
	got := Judge(accepted, Record{Parts: []string{"start"}, Rows: []Row{made("start", "handover", 2, 1.9, 2.1)}})
	var said []string
	for _, f := range got {
		said = append(said, f.String())
	}
	want := []string{"handover against bare: new: 2.00 (1.90 to 2.10)", "start against bare: NOT MEASURED: it was 2.00 (1.90 to 2.10)"}
	if !slices.Equal(said, want) || got[0].Fails() || !got[1].Fails() {
		t.Errorf("%q, want %q", said, want)
	}
}

// The report of a run that fell behind says which row, and by how much.
func TestFindingsSayByHowMuch(t *testing.T) {
	accepted := Record{Rows: []Row{made("start", "start", 2, 1.9, 2.1)}}
	got := Judge(accepted, Record{Rows: []Row{made("start", "start", 2.5, 2.4, 2.6)}})[0].String()
	if want := "start against bare: WORSE: 2.50 (2.40 to 2.60), accepted 2.00 (1.90 to 2.10) (+25 %)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What is accepted passes its own run, keeps the parts that were not run, and is read back as it was written.
func TestAccept(t *testing.T) {
	accepted := Record{Rows: []Row{made("start", "start", 2, 1.9, 2.1), made("start", "gone", 2, 1.9, 2.1), made("queue", "list", 3, 2.9, 3.1)}}
	run := Record{Parts: []string{"start"}, Rows: []Row{made("start", "start", 2.5, 2.4, 2.6)}}
	now := Accept(accepted, run, false)
	if want := (Record{Rows: []Row{run.Rows[0], accepted.Rows[2]}}); !slices.Equal(now.Rows, want.Rows) {
		t.Errorf("accepted: %+v", now)
	}
	if wide := Accept(accepted, run, true).Rows[0].Interval; wide != (Interval{2.5, 1.9, 2.6}) {
		t.Errorf("wider: %+v", wide)
	}
	for _, f := range Judge(now, run) {
		if f.Verdict != Same {
			t.Errorf("a run that was accepted: %s", f)
		}
	}
	text, err := now.Text("a comment\nof two lines\n")
	if err != nil || !strings.HasPrefix(string(text), "# a comment\n# of two lines\n") {
		t.Fatalf("%s, %v", text, err)
	}
	if again, err := Parse(text); err != nil || !slices.Equal(again.Rows, now.Rows) {
		t.Errorf("%s read back as %+v, %v", text, again, err)
	}
}

func TestParseRefuses(t *testing.T) {
	row := "[[row]]\npart = 'a'\nfigure = 'b'\nagainst = 'c'\n"
	for text, want := range map[string]string{"[[row]]\nration = 2": "strict mode", row + row: "b against c is there twice", "row": "reading ratios"} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
