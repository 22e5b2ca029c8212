package sim_test

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		format     sim.Format
		want       []sim.Job
	}{
		{"own", "submit,duration,gpus,user,limit,gpu_mem\n30,60,0.5,ann,90,20G\n10,20,2,bob,,\n", sim.FormatCSV, []sim.Job{
			{Submit: 10 * time.Second, Run: 20 * time.Second, GPUMilli: 2000, User: "bob"},
			{Submit: 30 * time.Second, Run: time.Minute, GPUMilli: 500, GPUMemBytes: 20 * gib, User: "ann", Limit: 90 * time.Second},
		}},
		{"own with dates, cut at the limit", "submit,duration,gpus,user,limit\n2026-01-02 01:00:00,60,1,ann,30\n", sim.FormatCSV, []sim.Job{
			{Submit: time.Hour, Run: 30 * time.Second, GPUMilli: 1000, User: "ann", Limit: 30 * time.Second},
		}},
		{"philly", "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\n", sim.FormatPhilly, []sim.Job{
			{Submit: 7*time.Hour + time.Minute + 55*time.Second, Run: 66 * time.Second, GPUMilli: 1000, User: "11cb48"},
		}},
		{"openb, a pod without a GPU is left out", "name,num_gpu,gpu_milli,qos,creation_time,deletion_time\na,1,460,LS,100,160\nb,0,0,BE,100,160\nc,8,1000,LS,200,210\n", sim.FormatOpenb, []sim.Job{
			{Submit: 100 * time.Second, Run: time.Minute, GPUMilli: 460, User: "LS"},
			{Submit: 200 * time.Second, Run: 10 * time.Second, GPUMilli: 8000, User: "LS"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, format, err := sim.Read(strings.NewReader(c.text), sim.FormatAuto)
			if err != nil || format != c.format || !reflect.DeepEqual(tr.Jobs, c.want) {
				t.Errorf("format %s, error %v, jobs %+v", format, err, tr.Jobs)
			}
		})
	}
}

func TestBadTraces(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "headings"},
		{"a,b\n", "no known format"},
		{"submit,duration,gpus,user\n1,2,x,ann\n", "line 2"},
		{"submit,duration,gpus,user\n1,2,1,ann\n-1,2,1,ann\n", "line 3"},
		{"submit,duration,gpus,user\n1,2\n", "wrong number of fields"},
		{"submit,duration,gpus,user\n1,NaN,1,ann\n", "\"NaN\" is not a number of seconds"},
		{"submit,duration,gpus,user\n-Inf,2,1,ann\n", "\"-Inf\" is not a number of seconds"},
		{"submit,duration,gpus,user,gpu_mem\n1,2,1,ann,lots\n", "line 2"},
	} {
		if _, _, err := sim.Read(strings.NewReader(c.text), sim.FormatAuto); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	if _, _, err := sim.Read(strings.NewReader("submit,duration,gpus,user\n"), sim.FormatPhilly); err == nil || !strings.Contains(err.Error(), "timestamp") {
		t.Errorf("the missing columns are not named: %v", err)
	}
}

// Every trace that can be read is in order, has positive values, and can be written.
func FuzzRead(f *testing.F) {
	f.Add([]byte("submit,duration,gpus,user,limit,gpu_mem\n30,60,0.5,ann,90,20G\n"))
	f.Add([]byte("timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,x\n"))
	f.Add([]byte("num_gpu,gpu_milli,qos,creation_time,deletion_time\n1,460,LS,5,160\n"))
	f.Add([]byte(swfLog))
	f.Add([]byte("1 60 5 100 4 -1 -1 8 3600 -1 1 7 2 3 -1 -1 -1 -1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tr, _, err := sim.Read(bytes.NewReader(text), sim.FormatAuto)
		if err != nil {
			return
		}
		last := time.Duration(0)
		for _, j := range tr.Jobs {
			if j.Submit < last || j.Run < time.Second || j.GPUMilli <= 0 || j.Limit > 0 && j.Limit < j.Run {
				t.Fatalf("read %+v after %s", j, last)
			}
			last = j.Submit
		}
		if err := tr.Write(&bytes.Buffer{}); err != nil {
			t.Fatal(err)
		}
	})
}

// A made-up trace depends only on the seed, looks realistic, and survives writing and reading.
func TestGenerated(t *testing.T) {
	tr := sim.Generate(500, 7, 3)
	if !reflect.DeepEqual(tr, sim.Generate(500, 7, 3)) || reflect.DeepEqual(tr.Jobs, sim.Generate(500, 7, 4).Jobs) {
		t.Error("the seed does not determine the trace")
	}
	var file bytes.Buffer
	if err := tr.Write(&file); err != nil {
		t.Fatal(err)
	}
	again, _, err := sim.Read(&file, sim.FormatCSV)
	if err != nil || len(again.Jobs) != len(tr.Jobs) {
		t.Fatalf("%d jobs came back of %d: %v", len(again.Jobs), len(tr.Jobs), err)
	}
	sizes := map[int]bool{}
	for i, j := range again.Jobs {
		if j != tr.Jobs[i] {
			t.Fatalf("job %d was %+v and came back as %+v", i, tr.Jobs[i], j)
		}
		if j.Run > j.Limit && j.Limit > 0 || j.Run > 24*time.Hour {
			t.Fatalf("job %+v runs too long", j)
		}
		sizes[j.GPUMilli] = true
	}
	if len(sizes) < 3 {
		t.Errorf("only sizes %v", sizes)
	}
}

// The work of each day matches the load, except that the last job of a day may exceed it. The
// excess is subtracted from the work of the next day.
func TestW1(t *testing.T) {
	var jobs []string
	for day := range 10 {
		for range 40 {
			jobs = append(jobs, strings.Join([]string{strconv.Itoa(day*86400 + 3600), "40000", "1"}, " "))
		}
		jobs = append(jobs, strings.Join([]string{strconv.Itoa(day*86400 + 7200), "400000", "1"}, " "), strings.Join([]string{strconv.Itoa(day * 86400), "9", "16"}, " "))
	}
	tr := trace(t, jobs...)
	w := sim.W1{GPUs: 4, Load: 0.5, Days: 8, Seed: 1}
	drawn := w.Draw(tr)
	work, target := 0.0, 0.5*4*86400
	for _, j := range drawn.Jobs {
		if j.GPUMilli > 4000 || j.Run > 24*time.Hour || j.Submit >= 8*24*time.Hour {
			t.Fatalf("drew %+v", j)
		}
		work += j.Run.Seconds() * float64(j.GPUMilli) / 1000
	}
	if work < 8*target || work > 8*target+86400 {
		t.Errorf("drew %.0f GPU-seconds in 8 days of %.0f", work, target)
	}
	if !reflect.DeepEqual(drawn, w.Draw(tr)) {
		t.Error("the same seed drew other jobs")
	}
}
