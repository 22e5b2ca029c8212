package client

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/cmd/gpusched/site"
)

// writeManual implements "gpusched __man DIR", which writes the manual pages. The pages depend only
// on the grammar and SOURCE_DATE_EPOCH (invariant 6).
func writeManual(_ context.Context, a *cli.App, args []string) error {
	if len(args) != 1 {
		return cli.Usagef("usage: gpusched __man DIR")
	}
	parser, err := parse.New(&grammar{}, io.Discard, func(int) {})
	if err != nil {
		return err
	}
	if a.Slurm == nil {
		return site.BecomeSlurm(a)
	}
	manual.Describe(parser.Model.Node)
	source := manual.Source{Grammar: parser.Model, Version: cli.Version, OnSlurm: onSlurm(a),
		Besides: func(n *kong.Node) func() manual.Section { return parse.AboutNode(n).Section }}
	_, source.ReasonsOnSlurm = a.Slurm.Manual()
	if epoch := a.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return cli.Usagef("SOURCE_DATE_EPOCH is %q, not a number of seconds", epoch)
		}
		source.Date = time.Unix(seconds, 0).UTC().Format(time.DateOnly)
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return err
	}
	for name, text := range source.Pages() {
		if err := os.WriteFile(filepath.Join(args[0], name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// onSlurm returns the manual's sections about commands and options that do not work on Slurm.
func onSlurm(a *cli.App) []manual.Section {
	if a.Slurm == nil {
		return nil
	}
	var commands []manual.Entry
	for f := range reflect.TypeFor[grammar]().Fields() {
		word := commandNames(f)[0]
		if gap := aboutWord(word).Refusal(); gap != nil {
			commands = append(commands, manual.Entry{Word: word, Text: gap.Text()})
		}
	}
	slices.SortFunc(commands, func(x, y manual.Entry) int { return strings.Compare(x.Word, y.Word) })
	options, _ := a.Slurm.Manual()
	return []manual.Section{
		{Title: "COMMANDS THAT ARE NOT FOR SLURM", Entries: commands},
		{Title: "OPTIONS ON SLURM", Entries: options},
	}
}
