package nvml

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/gpusched/gpusched/gpu"
)

// Print writes a Snapshot for people.
func Print(w io.Writer, s gpu.Snapshot) error {
	if s.Problem != gpu.ProblemNone {
		_, err := fmt.Fprintf(w, "%s\n%s: %s\n", s.Problem.Sentence(), s.Problem, s.Detail)
		return err
	}
	fmt.Fprintf(w, "driver %s, NVML %s, CUDA %s, GPUs: %d\n", known(s.Driver), known(s.NVMLVersion), known(s.CUDAVersion),
		len(s.Devices))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "GPU\tNODE\tHEALTH\tNAME\tUUID\tPCI\tNUMA\tFREE\tUSED\tTOTAL\tUTIL\tTEMP\tPOWER")
	for _, d := range s.Devices {
		fmt.Fprintf(t, "%d\tnvidia%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			d.Index, number(int64(d.Minor), ""), d.Health, known(d.Name), known(d.UUID), known(d.PCI), number(int64(d.NUMANode),
				""),
			mib(d.MemFreeBytes), mib(d.MemUsedBytes), mib(d.MemTotalBytes),
			number(int64(d.UtilGPUPercent), "%"), number(int64(d.TempC), "C"), number(d.PowerMilliW, "mW"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return printNotes(w, s.Devices)
}

func printNotes(w io.Writer, devices []gpu.Device) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, d := range devices {
		if d.HealthDetail != "" {
			fmt.Fprintf(t, "GPU %d: %s\n", d.Index, d.HealthDetail)
		}
		if d.MIG {
			fmt.Fprintf(t, "GPU %d: MIG mode is on, and there are no slices\n", d.Index)
		}
		for _, p := range d.Processes {
			used := "?"
			if p.UsedBytes >= 0 {
				used = mib(uint64(p.UsedBytes))
			}
			state := ""
			if p.Dead {
				state = "gone"
			}
			fmt.Fprintf(t, "GPU %d\tpid %d\t%s\t%s\tuid %s\t%s\t%s\t%s\n",
				d.Index, p.PID, p.Kind, used, number(int64(p.UID), ""), known(p.Comm), known(p.Unit), state)
		}
	}
	return t.Flush()
}

// PrintSymbols writes which functions the library has, and what does not work without the others.
func PrintSymbols(w io.Writer, symbols []Symbol) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range symbols {
		state := "present"
		switch {
		case !s.Present && s.Loss == "":
			state = "MISSING: nothing works without it"
		case !s.Present:
			state = "missing, and with it: " + s.Loss
		}
		fmt.Fprintf(t, "%s\t%s\n", s.Name, state)
	}
	return t.Flush()
}

func known(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func number(n int64, unit string) string {
	if n < 0 {
		return "?"
	}
	return strconv.FormatInt(n, 10) + unit
}

func mib(bytes uint64) string {
	return strconv.FormatUint(bytes>>20, 10) + "MiB"
}
