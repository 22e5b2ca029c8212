package alias

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// mgpuOptions are the options of mgpu_srun.
var mgpuOptions = []option{
	{"--gpu-ids", true, renamed("gpu-ids")},
	{"--mem", true, func(c *Call, mega string) error {
		if _, err := strconv.ParseUint(mega, 10, 32); err != nil {
			return fmt.Errorf("%q is not a number of MB", mega)
		}
		c.add("--gpu-mem=" + mega + "M")
		return nil
	}},
	{"--time-limit", true, renamed("time")},
	{"--priority", true, renamed("priority")},
	{"--env-setup-cmd", true, renamed("setup")},
	{"--interactive", false, func(c *Call, _ string) error { c.Words[0] = "run"; return nil }},
}

func readMgpu(c *Call, t tool, args []string) error {
	c.add("submit")
	rest, err := t.parse(c, args, true)
	if err != nil {
		return err
	}
	return c.addCommand(rest)
}

// tgpuOptions are the options of tgpu submit.
var tgpuOptions = []option{
	{"--gpus", true, renamed("gpus")},
	{"--priority", true, renamed("priority")},
}

func readTgpu(c *Call, t tool, args []string) error {
	if len(args) == 0 {
		return errors.New("use tgpu submit, tgpu list or tgpu cancel ID")
	}
	switch verb := args[0]; verb {
	case "list":
		return readPlain("list")(c, tool{name: "tgpu list"}, args[1:])
	case "cancel":
		return readPlain("cancel")(c, tool{name: "tgpu cancel"}, args[1:])
	case "submit":
		c.add(verb)
	default:
		return fmt.Errorf("tgpu has no %q here: it has submit, list and cancel", verb)
	}
	rest, err := t.parse(c, args[1:], true)
	if err != nil {
		return err
	}
	if len(rest) == 1 && strings.HasPrefix(rest[0], "cmd=") {
		rest = []string{"/bin/sh", "-c", strings.TrimPrefix(rest[0], "cmd=")}
		c.add("--name=cmd")
	}
	return c.addCommand(rest)
}
