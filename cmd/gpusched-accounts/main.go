package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/gpusched/gpusched/daemon/directory/getent"
)

func main() { os.Exit(run(os.Args[1:], os.Getenv, os.Stderr)) }

// firstSocket is the descriptor of the first socket that systemd passes.
const firstSocket = 3

// run serves until it is killed. It returns 1 for an error and 2 for wrong usage.
func run(args []string, getenv func(string) string, talk io.Writer) int {
	if len(args) > 0 || getenv("LISTEN_FDS") != "1" || getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		fmt.Fprintln(talk, "gpusched-accounts: takes no arguments, and is started by systemd through gpusched-accounts.socket")
		return 2
	}
	l, err := net.FileListener(os.NewFile(firstSocket, "socket"))
	if err == nil {
		err = getent.Serve(context.Background(), l, getent.Resolver{Program: getent.Program})
	}
	if err != nil {
		fmt.Fprintln(talk, "gpusched-accounts:", err)
		return 1
	}
	return 0
}
