package jobenv

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// engineTime is the longest time that an engine may take for an answer.
const engineTime = 30 * time.Second

// ask runs an engine as the user. It returns what the engine prints, and the last line of its
// errors.
func (at *host) ask(ctx context.Context, words ...string) (out []byte, fault string, err error) {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, at.inPath(words[0]), words[1:]...)
	var said bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = "/", at.Environ, &said
	cmd.WaitDelay = time.Second
	out, err = cmd.Output()
	if ctx.Err() != nil {
		return nil, "it does not answer", ctx.Err()
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	fault = lines[len(lines)-1]
	for _, line := range lines {
		if strings.HasPrefix(line, "Error: ") { // warnings may follow it
			fault = line
		}
	}
	return out, strings.TrimPrefix(fault, "Error: "), err
}

// hasImage runs a command of an engine. The command succeeds if the engine has an image, and exits
// with 1 if the engine does not have it. Any other failure is an error of the engine.
func (at *host) hasImage(ctx context.Context, words ...string) (bool, error) {
	_, fault, err := at.ask(ctx, words...)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, nil
	case strings.HasSuffix(fault, "repository name must be lowercase"), strings.HasSuffix(fault, "invalid reference format"):
		return false, cli.Refuse(api.CodeUsage, "such as docker.io/library/python:3", "%q can't be the name of an image: %s",
			words[len(words)-1], strings.TrimSpace(fault[strings.LastIndex(fault, ":")+1:]))
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return false, nil
	}
	return false, unusable(words[0], fault, err)
}

// unusable says that an engine failed.
func unusable(engine, fault string, err error) error {
	if fault == "" {
		fault = err.Error()
	}
	return cli.Refuse(api.CodeUsage, "'"+engine+" info' shows it too; 'gpusched doctor' names what is known to be missing",
		"%s does not work for you: %s", title(contract.Engine(engine)), fault)
}

// podmanInfo is a part of what 'podman info' prints.
type podmanInfo struct {
	Version struct{ Version string }
	Host    struct {
		Security struct{ Rootless bool }
	}
	Store struct {
		Driver string            `json:"graphDriverName"`
		Root   string            `json:"graphRoot"`
		Status map[string]string `json:"graphStatus"`
	}
	Registries struct{ Search []string }
}

// oldestPodman is the oldest major version with which jobs were tried. Older versions can't pass
// on the output of a container.
const oldestPodman = 4

// podmanReady finds out whether Podman can run containers in the user's jobs.
func (at *host) podmanReady(ctx context.Context) (info podmanInfo, err error) {
	if at.inPath("crun") == "" {
		return info, cli.Refuse(api.CodeUsage, "ask an administrator to install it, such as with 'apt install crun'",
			"Podman needs crun in jobs, and it is not installed")
	}
	if err := at.checkSubordinates(); err != nil {
		return info, err
	}
	out, fault, err := at.ask(ctx, "podman", "info", "--format=json")
	if err == nil {
		err = json.Unmarshal(out, &info)
	}
	if err != nil {
		return info, unusable("podman", fault, err)
	}
	major, _, _ := strings.Cut(info.Version.Version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < oldestPodman {
		return info, cli.Refuse(api.CodeUsage, "ask an administrator for a newer one, or use an image of Apptainer",
			"Podman %s is too old to run in jobs: they need version %d", info.Version.Version, oldestPodman)
	}
	if system := info.Store.Status["Backing Filesystem"]; system == "nfs" {
		return info, cli.Refuse(api.CodeUsage, "name a directory on a local disk as graphroot in ~/.config/containers/storage.conf, "+
			"or ask an administrator for rootless_storage_path in /etc/containers/storage.conf",
			"Podman keeps your images in %q, which is on a network file system (%s) that they can't be used from", info.Store.Root, system)
	}
	return info, nil
}

// checkSubordinates returns an error if the user has no subordinate ids, which the files of an
// image need.
func (at *host) checkSubordinates() error {
	if at.UID == 0 {
		return nil
	}
	for _, program := range []string{"newuidmap", "newgidmap"} {
		if at.inPath(program) == "" {
			return cli.Refuse(api.CodeUsage, "ask an administrator to install it, such as with 'apt install uidmap'",
				"Podman needs %s, and it is not installed", program)
		}
	}
	if text, _ := ReadAtMost(filepath.Join("/", at.Root, "/etc/nsswitch.conf"), 1<<20); strings.Contains(string(text), "\nsubid:") {
		return nil // a directory service assigns them
	}
	user := at.CallerName()
	for _, name := range []string{"/etc/subuid", "/etc/subgid"} {
		text, err := ReadAtMost(filepath.Join("/", at.Root, name), 16<<20)
		if err != nil && !os.IsNotExist(err) {
			continue
		}
		ofUser := func(line string) bool {
			owner, _, _ := strings.Cut(line, ":")
			return owner == user || owner == strconv.Itoa(at.UID)
		}
		if !slices.ContainsFunc(strings.Split(string(text), "\n"), ofUser) {
			return cli.Refuse(api.CodeUsage, "ask an administrator for: usermod --add-subuids FIRST-LAST --add-subgids FIRST-LAST "+user+
				", with 65536 numbers that nobody else has",
				"your account has no subordinate ids in %s, which Podman needs for the files of images", name)
		}
	}
	return nil
}

// podman finds out whether Podman can run an image, and where it keeps the user's images.
func (at *host) podman(ctx context.Context, c *contract.Container) error {
	info, err := at.podmanReady(ctx)
	c.Driver, c.Store = info.Store.Driver, info.Store.Root
	if err != nil {
		return err
	}
	if err := at.checkCDI(); err != nil {
		return err
	}
	there, err := at.hasImage(ctx, "podman", "image", "exists", c.Image)
	if err != nil || there {
		return err
	}
	if at.isShortName(c.Image) && len(info.Registries.Search) == 0 && !at.isAlias(c.Image) {
		return cli.Refuse(api.CodeUsage, "name its registry, such as docker.io/library/"+c.Image,
			"there is no image %q here, and Podman is not configured to search registries for a short name", c.Image)
	}
	return at.noteMissing(c)
}

// isShortName reports whether the name of an image does not begin with the name of a registry.
func (at *host) isShortName(image string) bool {
	registry, _, isPath := strings.Cut(image, "/")
	return !isPath || !strings.ContainsAny(registry, ".:") && registry != "localhost"
}

// isAlias reports whether a file of aliases may have the short name of an image.
func (at *host) isAlias(image string) bool {
	name, _, _ := strings.Cut(image, "@")
	name, _, _ = strings.Cut(name, ":")
	files, _ := filepath.Glob(filepath.Join("/", at.Root, "/etc/containers/registries.conf.d/*.conf"))
	home := at.Getenv("HOME")
	files = append(files, filepath.Join("/", at.Root, "/etc/containers/registries.conf"),
		home+"/.config/containers/registries.conf", home+"/.cache/containers/short-name-aliases.conf")
	return slices.ContainsFunc(files, func(file string) bool {
		text, _ := ReadAtMost(file, 1<<20)
		return strings.Contains(string(text), `"`+name+`"`)
	})
}

// apptainer finds out whether Apptainer can run an image.
func (at *host) apptainer(_ context.Context, c *contract.Container) error {
	if !isForApptainer(c.Image) {
		return nil
	}
	return at.noteMissing(c)
}

// An EngineState says whether an engine can run images in the caller's jobs.
type EngineState struct {
	Engine contract.Engine
	Detail string
	Fault  error // nil: it can, or it is not installed
}

// EngineStates returns the state of each engine, without looking for an image.
func EngineStates(ctx context.Context, a *cli.App, engines []contract.Engine) (list []EngineState) {
	_, err := os.Stat(filepath.Join("/", a.Root, "/dev/nvidiactl"))
	at := &host{App: a, Surroundings: Surroundings{"/", a.Getenv, false}, gpus: err == nil}
	for _, e := range engines {
		s := EngineState{Engine: e, Detail: "it is not installed"}
		if at.inPath(string(e)) != "" {
			s.Detail, s.Fault = at.state(ctx, e)
		}
		list = append(list, s)
	}
	return list
}

// state returns the state of an engine that is installed.
func (at *host) state(ctx context.Context, e contract.Engine) (detail string, fault error) {
	const works = "it can run images in jobs"
	switch e {
	case contract.Podman:
		info, err := at.podmanReady(ctx)
		return "version " + info.Version.Version + ": " + works, cmp.Or(err, at.checkCDI())
	case contract.Docker:
		info, err := at.dockerReady(ctx)
		return "version " + info.ServerVersion + ": " + works, cmp.Or(err, at.checkLibraries(&info), at.checkRunc(ctx))
	}
	if !IsThere("/", at.Root, "/dev/fuse") {
		fault = cli.Refuse(api.CodeUsage, "modprobe fuse", "there is no /dev/fuse, so Apptainer unpacks a whole .sif file at each start")
	}
	return works, fault
}

// checkRunc returns an error if systemd takes GPUs away from Docker's containers. Versions 1.1.3 to
// 1.1.6 of runc cause this.
func (at *host) checkRunc(ctx context.Context) error {
	if at.inPath("runc") == "" {
		return nil
	}
	out, _, _ := at.ask(ctx, "runc", "--version")
	_, version, _ := strings.Cut(string(out), "runc version 1.1.")
	digits := strings.TrimRight(version[:min(len(version), 2)], "+-~ \n")
	if n, err := strconv.Atoi(digits); err != nil || n < 3 || n > 6 {
		return nil
	}
	return cli.Refuse(api.CodeUsage, "upgrade runc to 1.1.7 or later",
		"runc 1.1.%s: 'systemctl daemon-reload' takes the GPUs away from Docker's containers outside of jobs; those of jobs keep them", digits)
}

// dockerInfo is a part of what 'docker info' prints.
type dockerInfo struct {
	CgroupDriver, CgroupVersion string
	ServerVersion               string
	SecurityOptions             []string
	CDISpecDirs                 []string // none: Docker does not read CDI files
	DefaultRuntime              string
	ServerErrors                []string
}

// dockerReady finds out whether Docker can run containers in the user's jobs.
func (at *host) dockerReady(ctx context.Context) (info dockerInfo, err error) {
	out, fault, err := at.ask(ctx, "docker", "info", "--format={{json .}}")
	if unread := json.Unmarshal(out, &info); unread == nil && len(info.ServerErrors) > 0 { // some versions exit with 0
		fault, err = info.ServerErrors[0], errors.New(info.ServerErrors[0])
	} else if err == nil {
		err = unread
	}
	switch {
	case err != nil && strings.Contains(fault, "permission denied"):
		return info, cli.Refuse(api.CodeUsage, "ask an administrator to add you to group docker, whose members can become root",
			"you may not use Docker on this machine")
	case err != nil:
		return info, unusable("docker", fault, err)
	}
	if slices.ContainsFunc(info.SecurityOptions, func(s string) bool { return strings.Contains(s, "rootless") }) {
		return info, cli.Refuse(api.CodeUsage, "'docker context use default' chooses that of the machine",
			"your Docker is a rootless one, whose containers can't be in a job")
	}
	if info.CgroupVersion != "2" || info.CgroupDriver != "systemd" {
		return info, cli.Refuse(api.CodeUsage, `ask an administrator for "exec-opts": ["native.cgroupdriver=systemd"] in /etc/docker/daemon.json, and cgroup v2`,
			"Docker's containers can't be in a job here: it uses cgroup v%s with the driver %s", info.CgroupVersion, info.CgroupDriver)
	}
	return info, nil
}

// readsCDI reports whether Docker reads CDI files and whether one of these files describes the
// GPUs.
func (info *dockerInfo) readsCDI(root string) bool { return len(info.CDISpecDirs) > 0 && hasCDI(root) }

// checkLibraries returns an error if Docker brings no libraries of the driver into a container that
// gets GPUs. The container then gets only the nodes of the GPUs.
func (at *host) checkLibraries(info *dockerInfo) error {
	if !at.gpus || info.readsCDI(at.Root) || info.DefaultRuntime == "nvidia" { // that runtime brings them, too
		return nil
	}
	return cli.Refuse(api.CodeUsage, `ask an administrator for Docker 25 or later with "features": {"cdi": true} in /etc/docker/daemon.json, `+
		"the package nvidia-container-toolkit and 'nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml'",
		"the image must have the driver's libraries (libcuda.so.1) or get them with --mount: Docker brings none into containers here")
}

// docker finds out whether Docker can run an image.
func (at *host) docker(ctx context.Context, c *contract.Container) error {
	info, err := at.dockerReady(ctx)
	if err != nil {
		return err
	}
	lacks := at.checkLibraries(&info)
	if c.CDI = info.readsCDI(at.Root); lacks != nil {
		at.NoteOnce(lacks.Error())
	}
	there, err := at.hasImage(ctx, "docker", "image", "inspect", c.Image)
	if err != nil || there {
		return err
	}
	return at.noteMissing(c)
}
