package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the simulations print into testdata; read the difference before committing it")

const sampleTrace = "../../../contrib/sim/sample.csv"

// noProgress reports no progress.
func noProgress(int, int) {}

// The sample is replayed. If a figure differs, jobs of the sample wait longer or shorter than
// before: find out which jobs before updating the golden file.
func TestSimGolden(t *testing.T) {
	for name, args := range map[string]string{
		"table.txt":  "--trace " + sampleTrace + " --policy fifo-strict,fifo --gpus 8",
		"w1.txt":     "--trace " + sampleTrace + " --policy fifo --gpus 4 --workload w1 --days 7 --load 0.8 --seed 1-2",
		"groups.txt": "--scenario bimodal --policy fifo-strict,fifo --users --sizes --days 5 --seed 1-2",
	} {
		var out, talk bytes.Buffer
		if code := Run(strings.Fields(args), &out, &talk, noProgress); code != 0 {
			t.Fatalf("%s: exit code %d, %s", args, code, &talk)
		}
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if out.String() != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", args, &out, want)
		}
	}
}

// The JSON names its schema, and a report is written too.
func TestSimJSON(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	var out, talk bytes.Buffer
	if code := Run([]string{"--trace", sampleTrace, "--days", "2", "--policy", "fifo-strict,fifo", "--seed", "3,5-6", "--json", "--report", dir}, &out, &talk, noProgress); code != 0 {
		t.Fatalf("exit code %d, %s", code, &talk)
	}
	var doc document
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != "gpusched.sim.v1" || len(doc.Policies) != 2 || len(doc.Policies[1].Runs) != 3 || doc.Policies[1].Runs[2].Seed != 6 {
		t.Errorf("%+v", doc)
	}
	if m := doc.Policies[1].Mean; m == nil || m.Jobs == 0 || m.MeanCompletion < m.CompletionBound {
		t.Errorf("mean %+v", m)
	}
	if page, err := os.ReadFile(filepath.Join(dir, "index.html")); err != nil || !bytes.Contains(page, []byte("fifo-strict")) {
		t.Errorf("the report: %v", err)
	}
}

// Wrong usage is explained, with exit code 2.
func TestSimUsage(t *testing.T) {
	for args, want := range map[string]string{
		"":                                  "no trace is given",
		"--polcy fifo":                      "not defined: -polcy; see 'gpuschedd sim --help'",
		"--trace x --policy lifo":           "no policy \"lifo\": choose among fifo-strict, fifo",
		"--trace x --seed 5-3":              "not a range",
		"--trace x --seed 1-99999999":       "at most 1000 seeds",
		"--trace x --predict tarot":         "choose among learned",
		"--trace x --workload w2":           "no workload \"w2\"",
		"--trace x --format xml":            "no format \"xml\": choose among auto, csv, swf,",
		"--trace x --gpus 0":                "--gpus must be 1 to",
		"--trace x --procs-per-gpu 0":       "--procs-per-gpu must be at least 1",
		"--trace x --preemptible 2":         "--preemptible must be 0 to 1",
		"--trace x --preemptible NaN":       "--preemptible must be 0 to 1",
		"--trace x --parkable 1.1":          "--parkable must be 0 to 1",
		"--trace x --park 3601":             "--park must be 0 to 3600",
		"--trace x --preemptible -0.1":      "--preemptible must be 0 to 1",
		"--trace x --load nan":              "--load must be 0 to 10",
		"--trace x --load +Inf":             "--load must be 0 to 10",
		"--trace x --switch-cost -1s":       "a duration must not be negative",
		"--trace x --slice 2000000h":        "or more than 3660 days",
		"--trace x --half-life 1ns":         "--half-life must be at least a minute",
		"--trace x --depth -1":              "--depth must be 0 to 16",
		"--trace x --depth 99":              "--depth must be 0 to 16",
		"--trace x more":                    "takes no arguments",
		"--generate 2000000":                "1 to 1000000 jobs",
		"--generate 0":                      "1 to 1000000 jobs",
		"--generate drought":                "no scenario \"drought\": choose among flood",
		"--scenario drought":                "no scenario \"drought\": choose among flood",
		"--scenario flood --trace x":        "cannot be combined",
		"--scenario flood --days 3":         "has fixed times",
		"--scenario wide --from 2026-01-01": "--from does not apply",
		"--scenario wide --workload w1":     "--workload does not apply",
		"--trace x --days 99999":            "--days 0 to 3660",
	} {
		var out, talk bytes.Buffer
		if code := Run(strings.Fields(args), &out, &talk, noProgress); code != 2 || !strings.Contains(talk.String(), want) || out.Len() > 0 {
			t.Errorf("%q: exit code %d, %q, want %q", args, code, &talk, want)
		}
	}
	for _, args := range []string{"--trace /nowhere", "--trace " + sampleTrace + " --load 0.5"} {
		var out, talk bytes.Buffer
		if code := Run(strings.Fields(args), &out, &talk, noProgress); code != 1 || talk.Len() == 0 {
			t.Errorf("%q: exit code %d, %q", args, code, &talk)
		}
	}
	var out, talk bytes.Buffer
	if code := Run([]string{"--help"}, &out, &talk, noProgress); code != 0 || !strings.Contains(talk.String(), "-trace") {
		t.Errorf("help: exit code %d, %q", code, &talk)
	}
}

// A scenario stays the same when it is written and read again. The JSON has each user's GPU time.
func TestScenarioIsWritten(t *testing.T) {
	const shape = " --gpus 4 --days 4 --seed 2"
	var file, direct, read, talk bytes.Buffer
	if code := Run(strings.Fields("--generate bimodal"+shape), &file, &talk, noProgress); code != 0 {
		t.Fatal(talk.String())
	}
	path := filepath.Join(t.TempDir(), "bimodal.csv")
	if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, out := range map[string]*bytes.Buffer{
		"--scenario bimodal" + shape: &direct, "--trace " + path + " --gpus 4 --seed 2": &read,
	} {
		if code := Run(strings.Fields(args+" --policy fifo,fair --json"), out, &talk, noProgress); code != 0 {
			t.Fatal(talk.String())
		}
	}
	var a, b document
	if err := errors.Join(json.Unmarshal(direct.Bytes(), &a), json.Unmarshal(read.Bytes(), &b)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a.Policies, b.Policies) {
		t.Error("the file gives other figures than the scenario")
	}
	if r := a.Policies[1].Runs[0]; len(r.Users) != 5 || len(r.Sizes) != 3 || len(r.Fairness.GPUTime) != 5 {
		t.Errorf("%d users, %d sizes, %+v", len(r.Users), len(r.Sizes), r.Fairness)
	}
}

// A compressed log can be read. The machine is the one that the log describes, and skipped jobs are
// reported.
func TestPackedLog(t *testing.T) {
	const log = "; MaxProcs: 4096\n" +
		"1 0 0 100 8 -1 -1 8 3600 -1 1 7 2 3 -1 -1 -1 -1\n" +
		"2 5 0 100 9 -1 -1 9000 3600 -1 1 8 2 3 -1 -1 -1 -1\n" +
		"3 9 0 -1 -1 -1 -1 9 3600 -1 5 8 2 3 -1 -1 -1 -1\n"
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(log))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log.swf.gz")
	if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	const leftOut = "left out: 1 without a GPU or a run time, 1 that request more than the machine has, "
	for _, c := range []struct {
		args       string
		code, gpus int
		talk       string
	}{
		{"", 1, 0, "has 4096 processors, and a simulated one at most 1024 GPUs: set the number"},
		{"--procs-per-gpu 64", 0, 64, leftOut + "64 GPUs"},
		{"--gpus 8", 0, 8, leftOut + "8 GPUs"},
	} {
		var out, talk bytes.Buffer
		code := Run(strings.Fields("--json --trace "+path+" "+c.args), &out, &talk, noProgress)
		if code != c.code || !strings.Contains(talk.String(), c.talk) {
			t.Errorf("%s: exit code %d, %q", c.args, code, &talk)
		}
		var doc document
		if err := json.Unmarshal(out.Bytes(), &doc); code == 0 && (err != nil || doc.GPUs != c.gpus) {
			t.Errorf("%s: a machine of %d GPUs: %v", c.args, doc.GPUs, err)
		}
	}
	var out, talk bytes.Buffer
	if code := Run([]string{"--trace", sampleTrace, "--procs-per-gpu", "2"}, &out, &talk, noProgress); code != 1 {
		t.Errorf("--procs-per-gpu of a table: exit code %d, %q", code, &talk)
	}
}

// Generating the sample again gives the committed file.
func TestSampleIsGenerated(t *testing.T) {
	var out bytes.Buffer
	if code := Run([]string{"--generate", "2000", "--seed", "1"}, &out, &out, noProgress); code != 0 {
		t.Fatal(out.String())
	}
	sample, err := os.ReadFile(sampleTrace)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), sample) {
		t.Error("the sample is not what --generate 2000 --seed 1 makes")
	}
}
