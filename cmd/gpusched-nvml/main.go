package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/gpu/nvml"
	"github.com/gpusched/gpusched/gpu/nvml/cuda"
)

// Exit codes: 0 success, 1 error, 2 wrong usage. With --cuda: gpu.Proof.Status. With --park and
// --unpark: gpu.ParkStatus.
func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, in io.Reader, out, talk io.Writer) int {
	flags := flag.NewFlagSet("gpusched-nvml", flag.ContinueOnError)
	flags.SetOutput(talk)
	path := flags.String("library", "", "`path` of libnvidia-ml.so.1 (default: where the linker finds it)")
	below := flags.String("below", "", "control `group` of the user's systemd that runs the jobs (default: the machine's systemd)")
	count := flags.Bool("count", false, "print the number of GPUs and exit")
	census := flags.Bool("census", false, "print which functions the library has and exit")
	compute := flags.Bool("cuda", false, "compute with CUDA on the first GPU that it shows, and exit")
	park := flags.Bool("park", false, "make the driver take the GPUs from the processes PID:START…, which keep their GPU memory on the host, and exit")
	unpark := flags.Bool("unpark", false, "give processes PID:START… their GPUs and GPU memory back, for each OLD=NEW on GPU NEW instead of OLD, and exit")
	timeout := flags.Duration("device-timeout", 0, "time limit for the answer of one GPU (default 4s)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	modes := 0
	for _, is := range []bool{*count, *census, *compute, *park, *unpark} {
		if is {
			modes++
		}
	}
	processes, moves, bad := parse(flags.Args(), *unpark)
	if len(bad) > 0 && *unpark && strings.Contains(bad[0], "=") {
		text := fmt.Sprintf("%q must be OLD=NEW, the UUIDs of two GPUs as nvidia-smi -L prints them", bad[0])
		return report(out, int(gpu.ParkUnsure), text)
	}
	if len(bad) > 0 || (len(processes) > 0) != (*park || *unpark) || *timeout < 0 || modes > 1 {
		fmt.Fprintln(talk, "gpusched-nvml: takes no arguments without --park or --unpark, at most one of these, --count, --census and --cuda, and no negative time; see --help")
		return 2
	}
	switch {
	case *compute:
		return computeCUDA(out)
	case *park:
		status, text := cuda.Park(processes)
		return report(out, int(status), text)
	case *unpark:
		status, text := cuda.Unpark(processes, moves)
		return report(out, int(status), text)
	}
	lib := nvml.Open(nvml.Options{Path: *path, Below: *below, DeviceTimeout: *timeout})
	var err error
	switch {
	case *census:
		err = printSymbols(out, lib)
	case *count:
		err = printCount(out, lib)
	default:
		err = nvml.Serve(in, out, talk, lib)
	}
	if err != nil {
		fmt.Fprintf(talk, "gpusched-nvml: %v\n", err)
		return 1
	}
	return 0
}

func printSymbols(out io.Writer, lib *nvml.Library) error {
	symbols, err := lib.Symbols()
	if err != nil {
		return err
	}
	return nvml.PrintSymbols(out, symbols)
}

func printCount(out io.Writer, lib *nvml.Library) error {
	n, err := lib.Count()
	if err == nil {
		_, err = fmt.Fprintln(out, n)
	}
	return err
}

func computeCUDA(out io.Writer) int {
	proof, text := cuda.Compute()
	if proof == gpu.ProofWell {
		text = "the sums are right"
	}
	return report(out, proof.Status(), text)
}

// parse returns the processes and moves that the arguments name, and the arguments that name none. There may be
// moves only on the way back.
func parse(args []string, back bool) (processes []gpu.Process, moves []gpu.ParkMove, bad []string) {
	for _, arg := range args {
		if p, ok := gpu.ParkProcess(arg); ok {
			processes = append(processes, p)
		} else if m, ok := gpu.ParkMoveOf(arg); ok && back {
			moves = append(moves, m)
		} else {
			bad = append(bad, arg)
		}
	}
	return processes, moves, bad
}

// report prints what CUDA says, for people and for the service manager. It returns the exit status.
func report(out io.Writer, status int, text string) int {
	fmt.Fprintln(out, text)
	tellManager("STATUS=" + text)
	return status
}

// tellManager sends a message to the service manager, if there is one.
func tellManager(text string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	if fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0); err == nil {
		_ = syscall.Sendto(fd, []byte(text), syscall.MSG_NOSIGNAL, &syscall.SockaddrUnix{Name: path})
	}
}
