package job

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/units/contract"
)

// Each fault of a container is one problem, and a usual container has none.
func TestCheckContainer(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(*contract.Container, *Payload)
	}{
		{"a usual one", "", func(*contract.Container, *Payload) {}},
		{"a file", "", func(c *contract.Container, _ *Payload) { c.Engine, c.Image = contract.Apptainer, "/home/a b/x.sif" }},
		{"the GPUs of a command", "", func(_ *contract.Container, y *Payload) { y.Setup.CUDAArg = true }},
		{"no engine", "usage/engine ", func(c *contract.Container, _ *Payload) { c.Engine = "" }},
		{"another engine", "usage/engine runc", func(c *contract.Container, _ *Payload) { c.Engine = "runc" }},
		{"no image", "usage/image 4096", func(c *contract.Container, _ *Payload) { c.Image = "" }},
		{"an option as image", "usage/image 4096", func(c *contract.Container, _ *Payload) { c.Image = "--privileged" }},
		{"control in the image", "usage/image 4096", func(c *contract.Container, _ *Payload) { c.Image = "a\x1b[2J" }},
		{"NUL in the image", "usage/image 4096", func(c *contract.Container, _ *Payload) { c.Image = "a\x00" }},
		{"long image", "usage/image 4096", func(c *contract.Container, _ *Payload) { c.Image = strings.Repeat("i", 4097) }},
		{"relative source", "usage/mount 64 4096", func(c *contract.Container, _ *Payload) { c.Mounts[0].Source = "data" }},
		{"a path that goes up", "usage/mount 64 4096", func(c *contract.Container, _ *Payload) { c.Mounts[0].Target = "/a/../etc" }},
		{"over the image", "usage/mount 64 4096", func(c *contract.Container, _ *Payload) { c.Mounts[0].Target = "/" }},
		{"comma", "usage/mount 64 4096", func(c *contract.Container, _ *Payload) { c.Mounts[0].Source = "/a,ro" }},
		{"colon", "usage/mount 64 4096", func(c *contract.Container, _ *Payload) { c.Mounts[0].Source = "/a:/etc" }},
		{"quotation mark", "usage/mount 64 4096", func(c *contract.Container, _ *Payload) { c.Mounts[0].Target = `/a"` }},
		{"NUL", "usage/mount 64 4096", func(c *contract.Container, _ *Payload) { c.Mounts[0].Target = "/a\x00" }},
		{"many mounts", "usage/mount 64 4096", func(c *contract.Container, _ *Payload) { c.Mounts = slices.Repeat(c.Mounts, 65) }},
		{"an image as option", "usage/image-arg alpine", func(c *contract.Container, _ *Payload) { c.Args = []string{"alpine"} }},
		{"many options", "usage/image-args 64", func(c *contract.Container, _ *Payload) { c.Args = slices.Repeat(c.Args, 65) }},
		{"out of the unit", "usage/image-arg-own --cgroup-parent", func(c *contract.Container, _ *Payload) { c.Args = []string{"--cgroup-parent=x.slice"} }},
		{"in the background", "usage/image-arg-own -d", func(c *contract.Container, _ *Payload) { c.Args = []string{"--ipc=host", "-d"} }},
		{"in the background too", "usage/image-arg-own -t", func(c *contract.Container, _ *Payload) { c.Args = []string{"-itd"} }},
		{"in the background with ports", "usage/image-arg-own -d", func(c *contract.Container, _ *Payload) { c.Args = []string{"-Pd"} }},
		{"in the background with a volume", "usage/image-arg-own -d", func(c *contract.Container, _ *Payload) { c.Args = []string{"-idv=/a:/b"} }},
		{"a value of one letter", "", func(c *contract.Container, _ *Payload) { c.Args = []string{"-wd", "-i", "-qP"} }},
		{"a terminal", "usage/image-arg-own --tty", func(c *contract.Container, _ *Payload) { c.Args = []string{"-i", "--tty"} }},
		{"shared memory", "usage/image-arg-shm", func(c *contract.Container, _ *Payload) { c.Args = []string{"--shm-size=8g"} }},
		{"shared memory of its own", "", func(c *contract.Container, _ *Payload) { c.Args = []string{"--shm-size=8g", "--ipc=private"} }},
		{"two words", "usage/image-arg -v /tmp:/a=b", func(c *contract.Container, _ *Payload) { c.Args = []string{"--label=a b", "-v /tmp:/a=b"} }},
		{"NUL in an option", "usage/arg-nul\nusage/image-arg \"--a\\x00\"", func(c *contract.Container, _ *Payload) { c.Args = []string{"--a\x00"} }},
		{"another storage", "usage/image-store", func(c *contract.Container, _ *Payload) { c.Store = "/s,ro" }},
		{"another driver", "usage/image-store", func(c *contract.Container, _ *Payload) { c.Driver = "overlay,x=1" }},
		{"with a set-up", "usage/image-setup", func(_ *contract.Container, y *Payload) { y.Setup.Venv = "/v" }},
		{"with the environment here", "usage/image-env", func(_ *contract.Container, y *Payload) { y.EnvMode = contract.EnvInherit }},
	} {
		s := validSubmission()
		y := &s.Payload
		y.EnvMode, y.Setup = contract.EnvClean, contract.Setup{}
		y.Container = contract.Container{
			Engine: contract.Podman, Image: "docker.io/library/python:3", Driver: "overlay", Store: "/home/a/.local/share/containers/storage",
			Mounts: []contract.Mount{{Source: "/data", Target: "/mnt/data", ReadOnly: true}}, Args: []string{"--tmpfs=/scratch"},
		}
		c.change(&y.Container, y)
		got := ""
		if err := s.Validate(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
