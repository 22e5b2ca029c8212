package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

func main() { os.Exit(run(os.Args[1:], os.Getenv, os.Stderr)) }

var version = "development" // set by the linker

// run serves one agent until it closes the connection.
// It returns 1 for an error and 2 for wrong usage.
func run(args []string, getenv func(string) string, talk io.Writer) int {
	flags := flag.NewFlagSet("gpusched-mcp", flag.ContinueOnError)
	flags.SetOutput(talk)
	write := flags.Bool("write", false, "add the tools that queue, change and cancel jobs")
	others := flags.Bool("others", false, "with --write, also act on other users' jobs, as far as the user may")
	own := flags.Bool("own", false, "the socket belongs to the user's own scheduler")
	gpusched := flags.String("gpusched", "gpusched", "the `path` of gpusched")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(talk, "gpusched-mcp: unexpected argument %q: only options are accepted\n", flags.Arg(0))
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	client := &api.Client{Socket: getenv(contract.SocketVariable), Own: *own}
	t := &tools{client: client, gpusched: *gpusched, own: *own, uid: os.Getuid(), others: *others}
	out := &lockedOutput{w: os.Stdout}
	messages, pipe := io.Pipe()
	go func() { pipe.CloseWithError(sift(os.Stdin, pipe, out)) }()
	err := t.server(*write).Run(ctx, patientTransport{&mcp.IOTransport{Reader: messages, Writer: out}})
	if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		fmt.Fprintln(talk, "gpusched-mcp:", err)
		return 1
	}
	return 0
}
