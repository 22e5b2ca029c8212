package jobenv

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// site is a scheduler that only says which engines it allows.
type site struct {
	api.Engine
	engines []contract.Engine
	asked   int
}

func (s *site) Get(_ context.Context, _ *api.Route, _ string, _, out any) error {
	s.asked++
	out.(*api.UsageReply).Engines = s.engines
	return nil
}

// These scripts imitate engines. The only image that each of them has is 'here'.
const (
	fakePodman = `#!/bin/sh
case "$1 $2" in
"info --format=json") cat "$0.info" ;;
"image exists") test "$3" = here ;;
*) echo "Error: unrecognized command" >&2; exit 125 ;;
esac
`
	fakeDocker = `#!/bin/sh
case "$1" in
info) test ! -e "$0.fault" || { cat "$0.fault" >&2; exit 1; }; cat "$0.info" ;;
image) test "$3" = here ;;
esac
`
	podmanSays = `{"version":{"Version":"5.4.2"},"host":{"security":{"rootless":true}},"registries":{},
"store":{"graphDriverName":"overlay","graphRoot":"/home/a/.local/share/containers/storage","graphStatus":{"Backing Filesystem":"extfs"}}}`
	dockerSays = `{"ServerVersion":"26.1.5","CgroupDriver":"systemd","CgroupVersion":"2","SecurityOptions":["name=seccomp,profile=default"],"CDISpecDirs":["/etc/cdi"]}`
)

// machine returns an App on a machine that has Podman, Docker and all that they need. Its files are
// below the directory.
func machine(t *testing.T, s *site) (a *cli.App, dir string, said *bytes.Buffer) {
	t.Helper()
	dir, said = t.TempDir(), new(bytes.Buffer)
	for name, text := range map[string]string{
		"bin/podman": fakePodman, "bin/podman.info": podmanSays, "bin/docker": fakeDocker, "bin/docker.info": dockerSays,
		"bin/apptainer": "#!/bin/sh\n", "bin/crun": "#!/bin/sh\n", "bin/newuidmap": "#!/bin/sh\n", "bin/newgidmap": "#!/bin/sh\n",
		"etc/subuid": "bob:1:2\n4711:100000:65536\n", "etc/subgid": "4711:100000:65536\n", "etc/cdi/nvidia.yaml": "kind: nvidia.com/gpu\n",
		"work/x.sif": "", "work/data/file": "",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	vars := []string{"PATH=" + dir + "/bin:/usr/bin:/bin", "HOME=" + dir, "USER=alice"}
	get := func(name string) string {
		for _, v := range vars {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
	a = &cli.App{
		Env:     cli.Env{Environ: vars, Getenv: get, UID: 4711, Root: dir, Err: &term.Terminal{W: bufio.NewWriter(said)}},
		Session: cli.Session{Client: s}, Noted: map[string]bool{},
	}
	return a, dir, said
}

// The options become a container of the first allowed engine that is installed and suits the image.
func TestContainer(t *testing.T) {
	pod := contract.Container{Engine: contract.Podman, Driver: "overlay", Store: "/home/a/.local/share/containers/storage"}
	both, docker := []contract.Engine{contract.Podman, contract.Apptainer}, []contract.Engine{contract.Docker}
	for name, c := range map[string]struct {
		engines []contract.Engine
		options ContainerOptions
		gone    string // program that is not installed
		want    contract.Container
		note    string
	}{
		"here":            {both, ContainerOptions{Image: "here"}, "", with(pod, func(c *contract.Container) { c.Image = "here" }), ""},
		"in a registry":   {both, ContainerOptions{Image: "docker.io/library/alpine"}, "", with(pod, func(c *contract.Container) { c.Image = "docker.io/library/alpine" }), "the image docker.io/library/alpine is not here yet: the job pulls it when it starts"},
		"ids, options":    {both, ContainerOptions{Image: "here", ImageUser: "keep", ImageArg: []string{"--a=1"}}, "", with(pod, func(c *contract.Container) { c.Image, c.KeepIDs, c.Args = "here", true, []string{"--a=1"} }), ""},
		"root":            {both, ContainerOptions{Image: "here", ImageUser: "root"}, "", with(pod, func(c *contract.Container) { c.Image = "here" }), ""},
		"a file":          {both, ContainerOptions{Image: "x.sif"}, "", contract.Container{Engine: contract.Apptainer, Image: "/work/x.sif"}, ""},
		"a path":          {both, ContainerOptions{Image: "./x.sif"}, "", contract.Container{Engine: contract.Apptainer, Image: "/work/x.sif"}, ""},
		"for Apptainer":   {both, ContainerOptions{Image: "oras://r/i"}, "", contract.Container{Engine: contract.Apptainer, Image: "oras://r/i"}, "the job pulls the image oras://r/i when it starts, unless Apptainer's cache has it"},
		"without Podman":  {both, ContainerOptions{Image: "python:3"}, "podman", contract.Container{Engine: contract.Apptainer, Image: "docker://python:3"}, "the job pulls the image docker://python:3"},
		"Docker":          {docker, ContainerOptions{Image: "here"}, "", contract.Container{Engine: contract.Docker, Image: "here", CDI: true}, ""},
		"Docker, to pull": {docker, ContainerOptions{Image: "alpine"}, "", contract.Container{Engine: contract.Docker, Image: "alpine", CDI: true}, "the job pulls it"},
		"mounts": {docker, ContainerOptions{Image: "here", Mount: []string{"data", "data:/mnt:ro", "data:ro", "/:/host:rw", "~/work:/w/"}}, "", contract.Container{Engine: contract.Docker, Image: "here", CDI: true, Mounts: []contract.Mount{
			{Source: "/work/data", Target: "/work/data"}, {Source: "/work/data", Target: "/mnt", ReadOnly: true}, {Source: "/work/data", Target: "/work/data", ReadOnly: true},
			{Source: "/", Target: "/host"}, {Source: "/work", Target: "/w"},
		}}, ""},
	} {
		a, dir, said := machine(t, &site{engines: c.engines})
		os.Remove(filepath.Join(dir, "bin", cmp.Or(c.gone, "none")))
		got, err := c.options.Container(t.Context(), a, ContainerJob{Dir: dir + "/work", GPUs: true})
		got.Image = strings.TrimPrefix(got.Image, dir)
		for i := range got.Mounts {
			m := &got.Mounts[i]
			m.Source = cmp.Or(strings.TrimPrefix(m.Source, dir), "/")
			m.Target = strings.TrimPrefix(m.Target, dir)
		}
		a.Err.W.Flush()
		if err != nil || !reflect.DeepEqual(got, c.want) || !strings.Contains(said.String(), c.note) || c.note == "" && said.Len() > 0 {
			t.Errorf("%s: %v, it says %q\n%+v\nwant\n%+v", name, err, said, got, c.want)
		}
	}
}

// Without CDI, Docker brings no libraries of the driver into a container. A message tells the
// submitter.
func TestDockerWithoutCDI(t *testing.T) {
	for _, gpus := range []bool{true, false} {
		a, dir, said := machine(t, &site{engines: []contract.Engine{contract.Docker}})
		if err := os.WriteFile(filepath.Join(dir, "bin/docker.info"), []byte(strings.ReplaceAll(dockerSays, "CDISpecDirs", "Other")), 0o644); err != nil {
			t.Fatal(err)
		}
		o := ContainerOptions{Image: "here"}
		c, err := o.Container(t.Context(), a, ContainerJob{Dir: dir, GPUs: gpus})
		a.Err.W.Flush()
		if err != nil || c.CDI || strings.Contains(said.String(), "the image must have the driver's libraries") != gpus {
			t.Errorf("GPUs %t: %+v, %v, it says %q", gpus, c, err, said)
		}
	}
}

func with(c contract.Container, change func(*contract.Container)) contract.Container {
	change(&c)
	return c
}

// An error names what an image lacks, and the package or setting that provides it.
func TestContainerRefused(t *testing.T) {
	podman, docker := []contract.Engine{contract.Podman}, []contract.Engine{contract.Docker}
	without := func(names ...string) func(string) error {
		return func(dir string) (err error) {
			for _, name := range names {
				err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
			}
			return err
		}
	}
	file := func(name, text string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755) }
	}
	says := func(name, text, old, new string) func(string) error {
		return file(name, strings.Replace(text, old, new, 1))
	}
	for name, c := range map[string]struct {
		engines []contract.Engine
		options ContainerOptions
		change  func(dir string) error
		want    string // beginnings of the message and of the hint, with a | between them
	}{
		"no image":          {podman, ContainerOptions{Mount: []string{"data"}}, nil, "--mount, --image-arg and --image-user are about an image, and none is named|name it"},
		"no engine allowed": {nil, ContainerOptions{Image: "here"}, nil, "this site does not run images|containers.engines"},
		"not for Podman":    {podman, ContainerOptions{Image: "x.sif"}, nil, `"x.sif" is an image for Apptainer, and this site allows only Podman|name an image`},
		"no Podman":         {podman, ContainerOptions{Image: "here"}, without("bin/podman"), "Podman is not installed|ask an administrator to install podman, crun and uidmap"},
		"none of two":       {append(podman, docker...), ContainerOptions{Image: "here"}, without("bin/podman", "bin/docker"), "neither Podman nor Docker is installed|ask an administrator to install podman"},
		"no crun":           {podman, ContainerOptions{Image: "here"}, without("bin/crun"), "Podman needs crun|ask an administrator to install it, such as with 'apt install crun'"},
		"no ids":            {podman, ContainerOptions{Image: "here"}, file("etc/subgid", "bob:1:2\n"), "your account has no subordinate ids in /etc/subgid|ask an administrator for: usermod --add-subuids FIRST-LAST --add-subgids FIRST-LAST alice"},
		"no file of ids":    {podman, ContainerOptions{Image: "here"}, without("etc/subuid"), "your account has no subordinate ids in /etc/subuid|"},
		"old Podman":        {podman, ContainerOptions{Image: "here"}, says("bin/podman.info", podmanSays, "5.4.2", "3.4.4"), "Podman 3.4.4 is too old to run in jobs: they need version 4|"},
		"Podman on NFS":     {podman, ContainerOptions{Image: "here"}, says("bin/podman.info", podmanSays, "extfs", "nfs"), `Podman keeps your images in "/home/a/.local/share/containers/storage", which is on a network file system (nfs)|name a directory on a local disk`},
		"a broken Podman":   {podman, ContainerOptions{Image: "here"}, file("bin/podman", "#!/bin/sh\necho Error: no space left >&2\nexit 125\n"), "Podman does not work for you: no space left|'podman info'"},
		"no GPUs":           {podman, ContainerOptions{Image: "here"}, without("etc/cdi/nvidia.yaml"), "containers can't get GPUs on this machine: no file in /etc/cdi|ask an administrator for the package nvidia-container-toolkit"},
		"of this machine":   {podman, ContainerOptions{Image: "localhost/mine"}, nil, `there is no image "localhost/mine" here, and no registry|'podman images'`},
		"a short name":      {podman, ContainerOptions{Image: "alpine"}, nil, `there is no image "alpine" here, and Podman is not configured|name its registry, such as docker.io/library/alpine`},
		"no file":           {[]contract.Engine{contract.Apptainer}, ContainerOptions{Image: "y.sif"}, nil, "there is no image|"},
		"root in Apptainer": {[]contract.Engine{contract.Apptainer}, ContainerOptions{Image: "x.sif", ImageUser: "root"}, nil, "Apptainer runs the command as your own user|leave --image-user out"},
		"Docker, no right":  {docker, ContainerOptions{Image: "here"}, file("bin/docker.fault", "permission denied while trying to connect\n"), "you may not use Docker|ask an administrator to add you to group docker"},
		"Docker stopped":    {docker, ContainerOptions{Image: "here"}, file("bin/docker.fault", "Cannot connect to the Docker daemon\n"), "Docker does not work for you: Cannot connect|"},
		"another driver":    {docker, ContainerOptions{Image: "here"}, says("bin/docker.info", dockerSays, "systemd", "cgroupfs"), "Docker's containers can't be in a job here: it uses cgroup v2 with the driver cgroupfs|"},
		"rootless Docker":   {docker, ContainerOptions{Image: "here"}, says("bin/docker.info", dockerSays, "name=seccomp", "name=rootless\",\"name=seccomp"), "your Docker is a rootless one|"},
		"nothing to mount":  {podman, ContainerOptions{Image: "here", Mount: []string{"nix"}}, nil, "there is no file or directory|--force"},
		"a mount on top":    {podman, ContainerOptions{Image: "here", Mount: []string{"data:/"}}, nil, `"/" is not a place in an image|such as --mount data:/mnt`},
		"a relative place":  {podman, ContainerOptions{Image: "here", Mount: []string{"data:mnt"}}, nil, `"mnt" is not a place in an image|`},
		"another mode":      {podman, ContainerOptions{Image: "here", Mount: []string{"data:/mnt:x"}}, nil, `"data:/mnt:x" is not SOURCE, SOURCE:TARGET or SOURCE:TARGET:ro (--mount)|such as`},
	} {
		a, dir, _ := machine(t, &site{engines: c.engines})
		if c.change != nil {
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
		}
		_, err := c.options.Container(t.Context(), a, ContainerJob{Dir: dir + "/work", GPUs: true})
		message, hint, _ := strings.Cut(c.want, "|")
		var e *api.Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Message, message) || !strings.HasPrefix(e.Hint, hint) {
			t.Errorf("%s: %+v, want %s", name, err, c.want)
		}
		forced, err := c.options.Container(t.Context(), a, ContainerJob{Dir: dir + "/work", GPUs: true, Force: true})
		if slices.Contains([]string{"no Podman", "none of two", "no crun", "no GPUs", "no file"}, name) && (err != nil || forced.IsZero()) {
			t.Errorf("%s, forced: %+v %v", name, forced, err)
		}
	}
}

// Without --image, neither the scheduler nor an engine is asked.
func TestNoContainer(t *testing.T) {
	s := &site{}
	a, dir, _ := machine(t, s)
	var o ContainerOptions
	if c, err := o.Container(t.Context(), a, ContainerJob{Dir: dir, GPUs: true}); err != nil || !reflect.DeepEqual(c, contract.Container{}) || s.asked > 0 {
		t.Errorf("%+v, %v, %d", c, err, s.asked)
	}
	o.Image = "here"
	if c, err := o.Container(t.Context(), a, ContainerJob{Dir: dir, Slurm: true}); err != nil || c.Image != "here" || s.asked > 0 {
		t.Errorf("for another engine: %+v, %v, %d", c, err, s.asked)
	}
}

// If an alias or a list of registries resolves a short name, the job pulls the image.
func TestShortNames(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"alias": func(dir string) error {
			conf := filepath.Join(dir, "etc/containers/registries.conf.d")
			return errors.Join(os.MkdirAll(conf, 0o755), os.WriteFile(filepath.Join(conf, "shortnames.conf"), []byte(`"alpine" = "docker.io/library/alpine"`), 0o644))
		},
		"search": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "bin/podman.info"), []byte(strings.Replace(podmanSays, `"registries":{}`, `"registries":{"search":["docker.io"]}`, 1)), 0o644)
		},
	} {
		a, dir, said := machine(t, &site{engines: []contract.Engine{contract.Podman}})
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		o := ContainerOptions{Image: "alpine:3.20"}
		_, err := o.Container(t.Context(), a, ContainerJob{Dir: dir})
		if a.Err.W.Flush(); err != nil || !strings.Contains(said.String(), "the job pulls it when it starts") {
			t.Errorf("%s: %v, %q", name, err, said)
		}
	}
}

func TestImageEnviron(t *testing.T) {
	got := ImageEnviron([]string{"A=1", "TZ=UTC"}, []string{"PATH=/bin", "LANG=de_DE", "TZ=Europe/Berlin", "HOME=/h"})
	if want := []string{"LANG=de_DE", "A=1", "TZ=UTC"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The doctor says of each engine whether it can run images, and what is missing.
func TestEngineStates(t *testing.T) {
	a, dir, _ := machine(t, &site{})
	states := func() (got []string) {
		for _, s := range EngineStates(t.Context(), a, contract.Engines()) {
			text := s.Detail
			if s.Fault != nil {
				text = s.Fault.Error()
			}
			got = append(got, string(s.Engine)+": "+text)
		}
		return got
	}
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	write("dev/nvidiactl", "")
	write("dev/fuse", "")
	write("bin/runc", "#!/bin/sh\necho runc version 1.1.15+ds1\n")
	want := []string{"podman: version 5.4.2: it can run images in jobs", "apptainer: it can run images in jobs", "docker: version 26.1.5: it can run images in jobs"}
	if got := states(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	write("bin/runc", "#!/bin/sh\necho runc version 1.1.5+ds1\n")
	os.Remove(filepath.Join(dir, "dev/fuse"))
	os.Remove(filepath.Join(dir, "bin/podman"))
	want = []string{"podman: it is not installed", "apptainer: there is no /dev/fuse", "docker: runc 1.1.5: 'systemctl daemon-reload' takes"}
	for i, got := range states() {
		if !strings.HasPrefix(got, want[i]) {
			t.Errorf("%q, want %q", got, want[i])
		}
	}
	os.Remove(filepath.Join(dir, "etc/cdi/nvidia.yaml"))
	if got := states()[2]; !strings.HasPrefix(got, "docker: the image must have the driver's libraries") {
		t.Errorf("%q", got)
	}
}

// Jobs that share answers ask once for the same image.
func TestSharedAnswers(t *testing.T) {
	s := &site{engines: []contract.Engine{contract.Docker}}
	a, dir, _ := machine(t, s)
	answers := ImageAnswers{}
	for _, args := range [][]string{{"--a"}, {"--b"}, nil} {
		o := ContainerOptions{Image: "here", ImageArg: args}
		o.Share(answers)
		c, err := o.Container(t.Context(), a, ContainerJob{Dir: dir})
		if err != nil || c.Engine != contract.Docker || !slices.Equal(c.Args, args) {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if s.asked != 1 {
		t.Errorf("the scheduler was asked %d times", s.asked)
	}
}

// The job's directory is mounted, so it must not be one that an image needs.
func TestHidesImage(t *testing.T) {
	for _, dir := range []string{"/etc", "/usr", "/usr/bin", "/usr/local/lib", "/opt", "/proc/1", "/dev/shm", "/var"} {
		if !hidesImage(dir) {
			t.Errorf("%s can be mounted", dir)
		}
	}
	for _, dir := range []string{"/", "/home/alice", "/etc/project", "/usr/local/data", "/opt/data", "/tmp", "/srv", "/var/tmp", "/data"} {
		if hidesImage(dir) {
			t.Errorf("%s can't be mounted", dir)
		}
	}
}
