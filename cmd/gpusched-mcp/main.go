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

// version is set by the linker.
var version = "development"

// run serves one agent until it closes the connection. Exit codes: 1 went wrong, 2 usage.
func run(args []string, getenv func(string) string, talk io.Writer) int {
	flags := flag.NewFlagSet("gpusched-mcp", flag.ContinueOnError)
	flags.SetOutput(talk)
	write := flags.Bool("write", false, "have tools that queue, change and cancel jobs")
	others := flags.Bool("others", false, "with --write, act on other users' jobs, too, as far as the user may")
	own := flags.Bool("own", false, "the socket is that of the user's own scheduler")
	gpusched := flags.String("gpusched", "gpusched", "`path` of gpusched, which acts")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(talk, "gpusched-mcp: %q is one word too many: it takes options only\n", flags.Arg(0))
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	client := &api.Client{Socket: getenv(contract.SocketVariable), Own: *own}
	t := &tools{client: client, gpusched: *gpusched, own: *own, uid: os.Getuid(), others: *others}
	err := t.server(*write).Run(ctx, answering{&mcp.StdioTransport{}})
	if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		fmt.Fprintln(talk, "gpusched-mcp:", err)
		return 1
	}
	return 0
}
