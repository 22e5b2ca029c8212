package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sim"
)

// read reads the trace, and sets the options that depend on its format.
func (o *options) read() (sim.Trace, error) {
	if o.scenario != nil {
		o.workload = o.scenario.Name
		return sim.Trace{}, nil
	}
	in := os.Stdin
	if o.trace != "-" {
		file, err := os.Open(o.trace)
		if err != nil {
			return sim.Trace{}, fmt.Errorf("opening the trace: %w", err)
		}
		defer file.Close()
		in = file
	}
	text, err := unpack(in)
	if err != nil {
		return sim.Trace{}, fmt.Errorf("trace %q: %w", o.trace, err)
	}
	trace, format, err := sim.Read(text, sim.Format(o.format))
	if err != nil {
		return trace, fmt.Errorf("trace %q: %w", o.trace, err)
	}
	if format == sim.FormatSWF {
		trace, err = o.onGPUs(trace)
	} else if o.procs != 1 {
		err = fmt.Errorf("--procs-per-gpu applies only to logs in the format swf, and the format of the trace is %s", format)
	}
	return trace, errors.Join(err, o.choose(format))
}

// unpack decompresses gzip, because archives compress their logs with it.
func unpack(file io.Reader) (io.Reader, error) {
	in := bufio.NewReader(file)
	if begin, _ := in.Peek(2); !bytes.Equal(begin, []byte{0x1f, 0x8b}) { // a short file gives fewer bytes and an error
		return in, nil
	}
	out, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("unpacking gzip: %w", err)
	}
	return out, nil
}

// onGPUs combines a log's processors into GPUs. Without --gpus, the machine has as many GPUs as the
// log's machine.
func (o *options) onGPUs(trace sim.Trace) (sim.Trace, error) {
	trace = trace.Gather(o.procs)
	switch {
	case o.gpus != nil:
	case trace.GPUs > job.MaxGPUs:
		return trace, fmt.Errorf("trace %q: the machine has %d processors, and a simulated one at most %d GPUs: set the number of "+
			"processors per GPU (--procs-per-gpu 16) or the size of the machine (--gpus)", o.trace, trace.GPUs*o.procs,
			job.MaxGPUs)
	case trace.GPUs > 0:
		o.options.GPUs = trace.GPUs
	}
	return trace, nil
}

// choose sets the default workload of the format, with its days and load.
func (o *options) choose(format sim.Format) error {
	if o.workload == "" {
		o.workload = cmp.Or(map[sim.Format]string{sim.FormatPhilly: "w1", sim.FormatOpenb: "pack"}[format], "as-is")
	}
	if o.workload == "w1" {
		if format == sim.FormatPhilly && o.from.IsZero() {
			o.from = time.Date(2017, 10, 2, 0, 0, 0, 0, time.UTC)
		}
		o.days, o.load = cmp.Or(o.days, 75), cmp.Or(o.load, 0.9)
	} else if o.load > 0 && o.workload == "as-is" {
		return errors.New("--load does not apply to --workload as-is: use w1, which draws jobs up to a load")
	}
	return nil
}

// tellLeftOut reports how many jobs of the trace are not replayed. The workload w1 has its own rule
// for that, and pack takes all jobs that fit.
func (o *options) tellLeftOut(trace sim.Trace, talk io.Writer) {
	var parts []string
	if trace.Skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d without a GPU or a run time", trace.Skipped))
	}
	if o.workload == "as-is" {
		if n := o.drawJobs(trace, o.seeds[0]).Dropped; n > 0 {
			parts = append(parts, fmt.Sprintf("%d that request more than the machine has, %d GPUs of %s", n, o.options.GPUs,
				job.FormatSize(o.options.GPUMemBytes)))
		}
	}
	if len(parts) > 0 {
		fmt.Fprintf(talk, "gpuschedd sim: jobs of the trace left out: %s\n", strings.Join(parts, ", "))
	}
}
