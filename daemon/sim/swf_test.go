package sim_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

// swfLog has a job with requested processors and two lines about parts of it, a job with only
// allocated processors, a job that was killed at its limit, a job that never began and a job without
// processors.
const swfLog = `; Version: 2.2
; UnixStartTime: 1767225600
;   TimeZoneString: UNKNOWN
; MaxNodes: 16
; MaxProcs: 64

1 60 5 100 4 -1 -1 8 3600 -1 1 7 2 3 -1 -1 -1 -1
1 60 5 40 4 -1 -1 8 3600 -1 2 7 2 3 -1 -1 -1 -1
1 60 -1 60 4 -1 -1 8 3600 -1 3 7 2 3 -1 -1 -1 -1
2 3600 0 30.5 5 12.25 1024 -1 -1 -1 0 -1 -1 -1 1 1 1 10
3 90 0 500 1 -1 -1 1 300 -1 5 12 1 -1 1 -1 -1 -1
4 95 -1 0 -1 -1 -1 4 300 -1 5 12 1 -1 1 -1 -1 -1
5 96 -1 20 0 -1 -1 -1 300 -1 0 12 1 -1 1 -1 -1 -1
`

func TestSWF(t *testing.T) {
	tr, format, err := sim.Read(strings.NewReader(swfLog), sim.FormatAuto)
	if err != nil || format != sim.FormatSWF {
		t.Fatalf("format %s, %v", format, err)
	}
	want := sim.Trace{
		Begin: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Skipped: 2, GPUs: 64,
		Jobs: []sim.Job{
			{Submit: time.Minute, Run: 100 * time.Second, GPUMilli: 8000, User: "user7", Kind: "program3", Limit: time.Hour},
			{Submit: 90 * time.Second, Run: 5 * time.Minute, GPUMilli: 1000, User: "user12", Limit: 5 * time.Minute},
			{Submit: time.Hour, Run: 30500 * time.Millisecond, GPUMilli: 5000, User: "unknown"},
		},
	}
	if !reflect.DeepEqual(tr, want) {
		t.Errorf("read %+v", tr)
	}
	few := tr.Gather(4)
	if got := []int{few.Jobs[0].GPUMilli, few.Jobs[1].GPUMilli, few.Jobs[2].GPUMilli, few.GPUs}; !reflect.DeepEqual(got,
		[]int{2000, 1000, 2000, 16}) {
		t.Errorf("with four processors per GPU: %v", got)
	}
}

// A log is recognized by its first line, whether or not that line is a comment.
func TestSWFIsKnown(t *testing.T) {
	const line = "1 60 5 100 4 -1 -1 8 3600 -1 1 7 2 3 -1 -1 -1 -1\n"
	for text, is := range map[string]bool{
		"\n\n  " + line:                     true,
		";\n" + line:                        true,
		"submit,duration,gpus,user\n":       false,
		"1,2,1,ann\n":                       false,
		"":                                  false,
		strings.Repeat("; x\n", 400) + line: true,
	} {
		_, format, _ := sim.Read(strings.NewReader(text), sim.FormatAuto)
		if (format == sim.FormatSWF) != is {
			t.Errorf("%.40q is taken for %q", text, format)
		}
	}
}

func TestBadSWF(t *testing.T) {
	const good = "; a comment\n1 60 5 100 4 -1 -1 8 3600 -1 1 7 2 3 -1 -1 -1 -1\n"
	for text, want := range map[string]string{
		good + "2 61 5 100 4\n": "line 3: it has 5 fields instead of the 18 of a job in the Standard Workload Format",
		good + "2 x 5 100 4 -1 -1 8 3600 -1 1 7 2 3 -1 -1 -1 -1\n":    `line 3: field 2 is "x"`,
		good + "2 60 5 -7 4 -1 -1 8 3600 -1 1 7 2 3 -1 -1 -1 -1\n":    `line 3: field 4 is "-7"`,
		good + "2 -1 5 100 4 -1 -1 8 3600 -1 1 7 2 3 -1 -1 -1 -1\n":   "line 3: field 2, the submit time, is missing",
		good + "2 60 5 9e99 4 -1 -1 8 3600 -1 1 7 2 3 -1 -1 -1 -1\n":  "line 3: field 4 is 9e99 seconds, more than",
		good + "2 60 5 100 4 -1 -1 8e9 3600 -1 1 7 2 3 -1 -1 -1 -1\n": "line 3: the job has 8000000000 processors",
		good + "2 60 5 NaN 4 -1 -1 8 3600 -1 1 7 2 3 -1 -1 -1 -1\n":   `line 3: field 4 is "NaN"`,
		"; " + strings.Repeat("x", 2<<20):                             "line 1: ",
	} {
		if _, _, err := sim.Read(strings.NewReader(text), sim.FormatAuto); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
	if _, _, err := sim.Read(strings.NewReader(""), sim.FormatSWF); err == nil {
		t.Error("an empty log is read")
	}
}

// The log includes jobs whose requested time is less than their run time, or less than a second.
func TestSWFIsReplayed(t *testing.T) {
	tr, _, err := sim.Read(strings.NewReader(swfLog+"6 97 0 60 2 -1 -1 2 0.2 -1 1 7 2 3 -1 -1 -1 -1\n"), sim.FormatAuto)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []string{"fifo-strict", "fair-preempt"} {
		out, err := sim.Run(tr, options(t, policy, 8))
		if err != nil || out.Metrics.Jobs != 4 {
			t.Errorf("%s: %v", policy, err)
		}
	}
}
