package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/gpusched/gpusched/cmd/gpusched-top/screen"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// Set by the linker, with -X main.version and -X main.commit.
var (
	version = "dev"
	commit  = ""
)

// statusInterrupted is the exit status that a shell reports for a command that SIGINT ended.
const statusInterrupted = 130

// framesPerSecond is the maximum rate of redrawing.
const framesPerSecond = 20

func main() {
	own := flag.Bool("own", false, "the scheduler is the user's own")
	mine := flag.Bool("mine", false, "show only the user's own jobs at first")
	gpusched := flag.String("gpusched", "gpusched", "the `path` of gpusched, which shows jobs and output")
	about := flag.Bool("version", false, "show the version")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: gpusched top [--mine] (it runs gpusched-top, which is not meant to be run by hand)")
	}
	flag.Parse()
	if *about {
		fmt.Println("gpusched-top", version, commit)
		return
	}
	if !term.IsTerminal(os.Stdin) || !term.IsTerminal(os.Stdout) {
		fmt.Fprintln(os.Stderr, "gpusched-top: this needs a terminal (see 'gpusched status' and 'gpusched list')")
		os.Exit(api.CodeUsage.ExitStatus())
	}
	p := &program{
		client:  &api.Client{Socket: os.Getenv(contract.SocketVariable), Own: *own},
		command: command{program: *gpusched, own: *own, environ: os.Environ()},
		colour:  hasColours(os.Getenv),
		model:   screen.New(screen.Setting{UID: os.Getuid(), Mine: *mine, ASCII: plainText(os.Getenv), Zone: time.Local}),
	}
	switch err := p.run(); {
	case errors.Is(err, tea.ErrInterrupted):
		os.Exit(statusInterrupted)
	case err != nil:
		fmt.Fprintln(os.Stderr, "gpusched-top:", term.Clean(err.Error()))
		os.Exit(1)
	}
}

// run shows the screen until the user leaves it.
func (p *program) run() error {
	profile := colorprofile.ASCII
	if p.colour {
		profile = colorprofile.ANSI
	}
	// The profile is set, not detected: the screen uses
	// only the sixteen colours that every terminal has.
	t := tea.NewProgram(p, tea.WithFPS(framesPerSecond), tea.WithColorProfile(profile))
	p.send = t.Send
	defer p.command.close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go p.listen(ctx)
	_, err := t.Run()
	return err
}

// hasColours reports whether the terminal has colours and the user wants them.
func hasColours(getenv func(string) string) bool {
	name := getenv("TERM")
	return getenv("NO_COLOR") == "" && name != "" && name != "dumb" && !strings.HasPrefix(name, "vt1") &&
		!strings.HasPrefix(name, "vt2") && !strings.HasSuffix(name, "-m") && !strings.HasSuffix(name, "-mono")
}

// plainText reports whether the terminal's name or its locale allows only ASCII.
func plainText(getenv func(string) string) bool {
	name := getenv("TERM")
	if name == "dumb" || strings.HasPrefix(name, "vt1") || strings.HasPrefix(name, "vt2") || name == "linux" {
		return true
	}
	for _, variable := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(getenv(variable)); value != "" {
			return !strings.Contains(value, "utf-8") && !strings.Contains(value, "utf8")
		}
	}
	return true
}
