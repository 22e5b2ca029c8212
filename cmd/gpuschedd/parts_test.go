package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/job"
)

// healthNames are the lines of health that the daemon itself has, beside one for
// each GPU and each job in trouble.
var healthNames = []string{"state", "gpus", "starts", "clock"}

// rows reads the table of gpuschedd(8) that says what the scheduler stands on.
func rows(t *testing.T) [][]string {
	t.Helper()
	data, err := os.ReadFile("../../packaging/man/gpuschedd.8")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(data), "PART\tLIMIT; TRIED AGAIN\tIN HEALTH\tMEANWHILE\n")
	table, _, end := strings.Cut(table, ".TE")
	if !ok || !end {
		t.Fatal("gpuschedd(8) has no table of what the scheduler stands on")
	}
	var list [][]string
	for line := range strings.Lines(table) {
		list = append(list, strings.Split(strings.TrimRight(line, "\n"), "\t"))
	}
	return list
}

// Every part of the table has a line in health, and every line of health is of a
// part in the table.
func TestPartsHaveALineInHealth(t *testing.T) {
	names := slices.Clone(healthNames)
	for _, c := range (&session{assembly: &assembly{}}).checks() {
		names = append(names, c.Name)
	}
	// What is no part that can fail under the scheduler, but a property of the machine.
	properties := []string{"state disk", "limits"}
	told := map[string]bool{}
	for _, row := range rows(t) {
		if len(row) != 4 || row[1] == "" || row[3] == "" {
			t.Errorf("row %q", row)
			continue
		}
		told[row[2]] = true
		if row[2] != `\-` && row[2] != "each its own" && !slices.Contains(names, row[2]) {
			t.Errorf("%s is to have a line %q in health", row[0], row[2])
		}
	}
	for _, name := range names {
		if !told[name] && !slices.Contains(properties, name) {
			t.Errorf("health has a line %q, and the table no part for it", name)
		}
	}
}

// The limits of the table are those of the program, as far as it tells them.
func TestPartsLimits(t *testing.T) {
	text := map[string]string{}
	for _, row := range rows(t) {
		text[row[0]] = row[1]
	}
	for part, limits := range map[string][]time.Duration{
		"state file":      {firstTry, lastTry},
		"looks of health": {daemon.CheckTime},
		"state on disk":   {daemon.SlowAfter},
	} {
		for _, d := range limits {
			if !strings.Contains(text[part], job.FormatDuration(d)) {
				t.Errorf("%s: %q does not say %s", part, text[part], job.FormatDuration(d))
			}
		}
	}
}
