package manual

import (
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	sentences "github.com/gpusched/gpusched/daemon/words"
)

// explainedWords returns the set of words that a table explains.
func explainedWords(list []Entry) map[string]bool {
	out := map[string]bool{}
	for _, e := range list {
		if e.Text == "" || out[e.Word] {
			panic("an entry is empty or there twice: " + e.Word)
		}
		out[e.Word] = true
	}
	return out
}

// The manual describes exactly the reasons, states and exit statuses that the code has.
func TestTheManualKnowsEveryReasonStateAndStatus(t *testing.T) {
	explained := explainedWords(reasons())
	for _, code := range sentences.ReasonCodes() {
		if !explained[string(code)] {
			t.Errorf("reason %s is not in the manual", code)
		}
		delete(explained, string(code))
	}
	if len(explained) > 0 {
		t.Errorf("the manual knows reasons that do not exist: %v", explained)
	}
	known := explainedWords(States())
	for _, s := range job.States() {
		if !known[string(s)] {
			t.Errorf("state %s is not in the manual", s)
		}
		delete(known, string(s))
	}
	if len(known) > 0 {
		t.Errorf("the manual knows states that do not exist: %v", known)
	}
	statuses := explainedWords(exitStatuses())
	for _, code := range []api.Code{api.CodeInternal, api.CodeUsage, api.CodeNotFound, api.CodeForbidden, api.CodeUnreachable,
		api.CodeNever, api.CodeWaitTimeout, api.CodePolicy, api.CodeConflict, api.CodeUnavailable} {
		if !statuses[strconv.Itoa(code.ExitStatus())] {
			t.Errorf("exit status %d is not in the manual", code.ExitStatus())
		}
	}
}

func TestTheTablesAreInThePage(t *testing.T) {
	parser, err := kong.New(&struct{}{}, kong.Name("gpusched"))
	if err != nil {
		t.Fatal(err)
	}
	page := Source{Grammar: parser.Model}.Pages()["gpusched.1"]
	for _, list := range [][]Entry{exitStatuses(), reasons(), States(), jobVariables(), ownSettings(), files()} {
		for word := range explainedWords(list) {
			if !strings.Contains(page, ".B "+Roff(word)+"\n") {
				t.Errorf("gpusched(1) lacks %s", word)
			}
		}
	}
	for title := range explainedWords(splitSections("topics")) {
		if !strings.Contains(page, ".SH "+title+"\n") {
			t.Errorf("gpusched(1) lacks the section %s", title)
		}
	}
	for _, part := range []string{text("ids"), text("moments")} {
		if part == "" || !strings.Contains(page, emphasised(part)) {
			t.Errorf("gpusched(1) lacks %q", part)
		}
	}
}

// The tables of gpusched-policy(7) fit a terminal of 80 columns.
func TestThePolicyFits(t *testing.T) {
	tables := 0
	for _, section := range splitSections("policy") {
		for line := range strings.SplitSeq(section.Text, "\n") {
			if table, ok := strings.CutPrefix(line, "    "); ok {
				if tables++; len(table) > 80-7-7 { // minus the margins of the page and of an example
					t.Errorf("%d columns: %s", len(table), table)
				}
			}
		}
	}
	if tables < 40 {
		t.Errorf("only %d lines are in tables", tables)
	}
}

func TestCommandsInQuotesAreBold(t *testing.T) {
	for in, want := range map[string]string{
		"see 'gpusched list'":                   `see \fBgpusched list\fP`,
		"the GPU's, by 'gpusched cancel 7'.":    `the GPU's, by \fBgpusched cancel 7\fP.`,
		"can't, or 'tomorrow 8:00', or its's '": `can't, or 'tomorrow 8:00', or its's '`,
	} {
		if got := emphasised(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestRoff(t *testing.T) {
	for in, want := range map[string]string{"a-b": `a\-b`, ".x": `\&.x`, "'x": `\&'x`, `a\b`: `a\eb`, "a…": "a..."} {
		if got := Roff(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := Quoted(`"a b"`); got != `"""a b"""` {
		t.Errorf("got %s", got)
	}
}
