package client

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
)

// An id slurm:N selects Slurm. Other text does not. --on overrides both.
func TestJobsChooseTheEngine(t *testing.T) {
	for line, want := range map[string]string{
		"cancel slurm:5":                              cli.EngineSlurm,
		"cancel 4 slurm:5":                            "", // refused, since 4 could be a job of either engine
		"cancel slurm:4 slurm:5":                      cli.EngineSlurm,
		"cancel --on slurm 4 slurm:5":                 cli.EngineSlurm,
		"show slurm:5_1":                              cli.EngineSlurm,
		"exec slurm:5 -- ls":                          cli.EngineSlurm,
		"cancel slurm:4,5":                            cli.EngineSlurm, // just as a:4,5 names two jobs of machine a
		"cancel slurm:4,slurm:5 slurm:6-8":            cli.EngineSlurm,
		"cancel slurm:7_[1,3]":                        cli.EngineSlurm,
		"cancel 4,slurm:5":                            "",
		"cancel 4,5":                                  cli.EngineLocal,
		"cancel slurm:4,a:5":                          "",
		"cancel a:4,slurm:5":                          "",
		"cancel a:4 slurm:5":                          "",
		"cancel slurm:4,5 6":                          "",
		"submit --after slurm:4,5 -- true":            cli.EngineSlurm,
		"submit --after=slurm:4,5 --after-ok slurm:6": cli.EngineSlurm,
		"submit --after 4,slurm:5 -- true":            "",
		"show name:a,slurm:5":                         cli.EngineLocal, // a name with a comma
		"show slurm:name:a,b":                         cli.EngineSlurm,
		"update 4 --after-any slurm:5":                "",
		"update slurm:4 --after-any slurm:5":          cli.EngineSlurm,
		"submit --after=slurm:5 -- true":              cli.EngineSlurm,
		"submit --after 4 --after-ok slurm:5 -- true": "",
		"submit --name slurm:x -- true":               cli.EngineLocal,
		"submit --comment slurm:moved -- true":        cli.EngineLocal,
		"submit --tag a=b --comment=slurm:x -- true":  cli.EngineLocal,
		"submit -- slurm:5":                           cli.EngineLocal,
		"exec 5 -- slurm:5":                           cli.EngineLocal,
		"list --name slurm:x":                         cli.EngineLocal,
		"cancel --on local slurm:5":                   cli.EngineLocal,
		"submit --on local --after slurm:5 -- true":   cli.EngineLocal,
		"submit --on slurm --comment slurm:x -- true": cli.EngineSlurm,
	} {
		args := strings.Fields(line)
		for _, variable := range []string{"", cli.EngineLocal} {
			parser, err := parse.New(grammarFor(args), io.Discard, func(int) {})
			if err != nil {
				t.Fatal(err)
			}
			k, err := parser.Parse(args)
			if err != nil {
				t.Fatal(line, err)
			}
			a := &cli.App{Env: cli.Env{
				UID: os.Getuid(), Root: t.TempDir(), Getenv: func(name string) string {
					return map[string]string{cli.EngineVariable: variable}[name]
				},
			}, Session: cli.Session{Slurm: withSlurm}}
			err = chooseEngine(a, k)
			if got := a.Other() != nil; (err != nil) != (want == "") || got != (want == cli.EngineSlurm) {
				t.Errorf("%s=%q %s: Slurm %t, %v", cli.EngineVariable, variable, line, got, err)
			}
		}
	}
}
