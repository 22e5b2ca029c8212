package jobenv

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// ContainerOptions describe the container in which the job's command runs.
type ContainerOptions struct {
	Image     string   `name:"image" placeholder:"IMAGE" group:"around"`
	Mount     []string `name:"mount" sep:"none" placeholder:"SRC:DST" group:"around"`
	ImageArg  []string `name:"image-arg" sep:"none" placeholder:"ARG" group:"around"`
	ImageUser string   `name:"image-user" placeholder:"USER" enum:",root,keep" default:"" group:"around"`

	answers ImageAnswers
}

// ImageAnswers has what was found out about images, so that many jobs with the same image ask once.
type ImageAnswers map[string]contract.Container

// Share gives answers to the options. The options use these answers and add their own.
func (o *ContainerOptions) Share(answers ImageAnswers) { o.answers = answers }

// IsContainer reports whether the options ask for a container.
func (o *ContainerOptions) IsContainer() bool { return o.Image != "" }

// A ContainerJob is what a container depends on besides its own options.
type ContainerJob struct {
	Dir   string // the job's directory
	GPUs  bool   // the job asks for GPUs
	Force bool   // missing files and programs are accepted
	Slurm bool   // another scheduler is asked, which has no engines of this machine
}

// Container returns the container that the options describe. It asks the scheduler which engines
// the site allows, and the engine whether it can run the image. Without --image it asks nobody.
func (o *ContainerOptions) Container(ctx context.Context, a *cli.App, j ContainerJob) (contract.Container, error) {
	c := contract.Container{Image: o.Image, Args: o.ImageArg, KeepIDs: o.ImageUser == "keep"}
	if o.Image == "" {
		if len(o.Mount)+len(o.ImageArg) > 0 || o.ImageUser != "" {
			return c, cli.Refuse(api.CodeUsage, "name it with --image",
				"--mount, --image-arg and --image-user are about an image, and none is named")
		}
		return contract.Container{}, nil
	}
	if hidesImage(j.Dir) && !j.Force {
		return c, cli.Refuse(api.CodeUsage, "choose another directory with --chdir",
			"the job's directory %s would hide that of the image", j.Dir)
	}
	at := &host{App: a, Surroundings: Surroundings{j.Dir, a.Getenv, j.Force}, gpus: j.GPUs}
	var err error
	if c.Mounts, err = at.mounts(o.Mount); err != nil || j.Slurm {
		return c, err
	}
	key := o.Image + "\x00" + o.ImageUser + "\x00" + j.Dir + "\x00" + strconv.FormatBool(j.GPUs)
	if known, ok := o.answers[key]; ok {
		known.Mounts, known.Args = c.Mounts, c.Args
		return known, nil
	}
	usage, err := api.Usage(ctx, a.Client, api.UsageQuery{})
	if err != nil {
		return c, err
	}
	if c.Engine, err = at.engine(usage.Engines, &c); err != nil {
		return c, err
	}
	if o.ImageUser == "root" && c.Engine != contract.Podman {
		return c, cli.Refuse(api.CodeUsage, "leave --image-user out", "%s runs the command as your own user, not as root (--image-user)", title(c.Engine))
	}
	if err := at.check(ctx, &c); err != nil {
		return c, err
	}
	if o.answers != nil {
		o.answers[key] = c
	}
	return c, nil
}

// hidesImage reports whether an image needs its own directory of this name. The job's directory
// would be mounted over it.
func hidesImage(dir string) bool {
	first, rest, _ := strings.Cut(strings.TrimPrefix(dir, "/"), "/")
	switch first {
	case "dev", "proc", "sys":
		return true
	case "bin", "boot", "etc", "lib", "lib32", "lib64", "opt", "run", "sbin", "var":
		return rest == ""
	case "usr":
		return slices.Contains([]string{"", "bin", "lib", "lib64", "libexec", "sbin", "share", "local", "local/bin", "local/lib"}, rest)
	}
	return false
}

// ContainerWords encodes a container as words. If the job has no container, there are no words.
func ContainerWords(c contract.Container) []string {
	if c.IsZero() {
		return nil
	}
	words := []string{"image", c.Image, strconv.FormatBool(c.KeepIDs)}
	for _, m := range c.Mounts {
		words = append(words, m.Source, m.Target, strconv.FormatBool(m.ReadOnly))
	}
	return append(words, c.Args...)
}

// ImageEnviron returns the environment that is sent with a job in a container. The image has an
// environment of its own, so only the language and time zone of the submitter are added to the
// variables of --set-env.
func ImageEnviron(set, environ []string) []string {
	var env []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if (name == "LANG" || name == "TZ") && value != "" && !IsSet(set, name) {
			env = append(env, entry)
		}
	}
	return append(env, set...)
}

// A host is this machine with its engines.
type host struct {
	*cli.App
	Surroundings
	gpus bool // the job asks for GPUs
}

// mounts parses the values of --mount.
func (at *host) mounts(typed []string) (list []contract.Mount, err error) {
	for _, text := range typed {
		source, rest, _ := strings.Cut(text, ":")
		target, mode, _ := strings.Cut(rest, ":")
		if source == "" || !slices.Contains([]string{"", "ro", "rw"}, mode) {
			return nil, cli.Refuse(api.CodeUsage, "such as --mount data, --mount /data:/mnt or --mount /data:/mnt:ro",
				"%q is not SOURCE, SOURCE:TARGET or SOURCE:TARGET:ro (--mount)", text)
		}
		if target == "ro" || target == "rw" {
			target, mode = "", target
		}
		m := contract.Mount{Source: at.absolute(source), ReadOnly: mode == "ro"}
		m.Target = m.Source
		if target != "" {
			m.Target = filepath.Clean(target)
		}
		if !filepath.IsAbs(m.Target) || m.Target == "/" {
			return nil, cli.Refuse(api.CodeUsage, "such as --mount "+source+":/mnt",
				"%q is not a place in an image: name an absolute path other than / (--mount)", target)
		}
		if _, err := os.Stat(m.Source); err != nil && !at.force {
			return nil, cli.Refuse(api.CodeUsage, ForceHint(at.App), "there is no file or directory %q to mount", m.Source)
		}
		list = append(list, m)
	}
	return list, nil
}

// engine chooses the first engine that the site allows, that suits the image, that is installed and
// that the user may use. It brings the name of the image into the engine's form.
func (at *host) engine(allowed []contract.Engine, c *contract.Container) (contract.Engine, error) {
	if len(allowed) == 0 {
		return "", cli.Refuse(api.CodePolicy, "containers.engines in gpusched.toml(5) is the site's list", "this site does not run images (--image)")
	}
	suits := allowed
	isFile := at.isImageFile(c.Image)
	if isFile || isForApptainer(c.Image) {
		if suits = []contract.Engine{contract.Apptainer}; !slices.Contains(allowed, contract.Apptainer) {
			return "", cli.Refuse(api.CodePolicy, "name an image of a registry, such as docker.io/library/python:3",
				"%q is an image for Apptainer, and this site allows only %s", c.Image, cli.Joined(allowed, " and ", title))
		}
	}
	for i, e := range suits {
		if at.inPath(string(e)) == "" && !at.force || e == contract.Docker && i+1 < len(suits) && at.mayNotUseDocker() {
			continue
		}
		switch {
		case isFile:
			c.Image = at.absolute(c.Image)
		case e == contract.Apptainer && !isForApptainer(c.Image):
			c.Image = "docker://" + c.Image
		}
		return e, nil
	}
	return "", cli.Refuse(api.CodeUsage, "ask an administrator to install "+packagesOf[suits[0]],
		"%s installed on this machine (--image)", notAny(suits))
}

// mayNotUseDocker reports whether the user lacks the right to use Docker. Members of Docker's group
// have that right.
func (at *host) mayNotUseDocker() bool {
	const toWrite = 2
	return syscall.Access(filepath.Join("/", at.Root, "/var/run/docker.sock"), toWrite) == syscall.EACCES
}

// packagesOf names the packages of an engine.
var packagesOf = map[contract.Engine]string{
	contract.Podman:    "podman, crun and uidmap, such as with 'apt install podman crun uidmap'",
	contract.Apptainer: "the package apptainer, from https://github.com/apptainer/apptainer/releases or EPEL",
	contract.Docker:    "Docker, such as with 'apt install docker.io'",
}

// isImageFile reports whether an image is named by a path.
func (at *host) isImageFile(image string) bool {
	for _, prefix := range []string{"/", "./", "../", "~/"} {
		if strings.HasPrefix(image, prefix) {
			return true
		}
	}
	return strings.HasSuffix(image, ".sif") && !strings.Contains(image, "://")
}

// isForApptainer reports whether only Apptainer understands the name of an image.
func isForApptainer(image string) bool { return strings.Contains(image, "://") }

// check finds out whether the engine can run the image in a job. It asks the engine as the user.
func (at *host) check(ctx context.Context, c *contract.Container) error {
	if at.isImageFile(c.Image) && !at.force {
		if info, err := os.Stat(c.Image); err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			return cli.Refuse(api.CodeUsage, DidYouMean(at.App, c.Image, c.Image), "there is no image %q", c.Image)
		}
	}
	check := map[contract.Engine]func(context.Context, *contract.Container) error{
		contract.Podman: at.podman, contract.Apptainer: at.apptainer, contract.Docker: at.docker,
	}[c.Engine]
	if err := check(ctx, c); err != nil && !at.force {
		return err
	}
	return nil
}

// noteMissing notes that the job pulls its image. It refuses an image that no registry has.
func (at *host) noteMissing(c *contract.Container) error {
	if strings.HasPrefix(strings.TrimPrefix(c.Image, "docker://"), "localhost/") {
		return cli.Refuse(api.CodeUsage, "'"+string(c.Engine)+" images' lists those that are here",
			"there is no image %q here, and no registry has images of this machine", c.Image)
	}
	note := "the image " + c.Image + " is not here yet: the job pulls it when it starts"
	if c.Engine == contract.Apptainer {
		note = "the job pulls the image " + c.Image + " when it starts, unless Apptainer's cache has it"
	}
	at.NoteOnce(note)
	return nil
}

// checkCDI returns an error if containers can't get the GPUs that the job asks for.
func (at *host) checkCDI() error {
	if !at.gpus || hasCDI(at.Root) {
		return nil
	}
	return cli.Refuse(api.CodeUsage, "ask an administrator for the package nvidia-container-toolkit and 'nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml'; "+
		"-g 0 asks for no GPU", "containers can't get GPUs on this machine: no file in /etc/cdi or /var/run/cdi describes them")
}

// hasCDI reports whether a CDI file describes the GPUs of NVIDIA.
func hasCDI(root string) bool {
	for _, dir := range []string{"/etc/cdi", "/var/run/cdi"} {
		files, _ := filepath.Glob(filepath.Join("/", root, dir, "*"))
		for _, file := range files {
			if ext := filepath.Ext(file); ext != ".yaml" && ext != ".json" {
				continue // engines do not read it
			}
			if text, _ := ReadAtMost(file, 1<<20); strings.Contains(string(text), "nvidia.com/gpu") {
				return true
			}
		}
	}
	return false
}

// title returns the name of an engine as its makers write it.
func title(e contract.Engine) string {
	return map[contract.Engine]string{contract.Podman: "Podman", contract.Apptainer: "Apptainer", contract.Docker: "Docker"}[e]
}

// notAny returns the subject and verb of a sentence that denies something about all engines in a
// list: "Podman is not" or "neither Podman nor Docker is".
func notAny(list []contract.Engine) string {
	if len(list) == 1 {
		return title(list[0]) + " is not"
	}
	return "neither " + cli.Joined(list, " nor ", title) + " is"
}
