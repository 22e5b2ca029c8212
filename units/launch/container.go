package launch

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// box is everything from which the commands of a job's container are built.
type box struct {
	contract.Container

	name  string   // of the container
	argv  []string // the job's command
	dir   string   // working directory, inside as outside
	home  string   // the user's home directory, inside as outside
	umask int
	tty   bool     // the command runs in a terminal
	env   []string // the variables that enter the container, K=V

	gpus  []string // UUIDs of the job's GPUs
	named bool     // a CDI file has the GPUs under their UUIDs

	say []string // lines for the job's output

	outside []string // the environment of the engine itself, K=V
	runtime string   // directory of the user's containers in jobs, in memory; "": there is none
	init    string   // path of the first process in the container

	docker dockerBox
}

// surroundings are what a box depends on outside the spec.
type surroundings struct {
	self  string              // path of gpusched-job
	group string              // control group of this process
	base  []string            // environment of the unit
	cdi   []string            // the texts of the machine's CDI files
	free  func(port int) bool // reports whether nobody listens on a port

	ids    ids
	exists func(path string) bool // reports whether there is a file
	tasks  string                 // the limit of the processes and threads of this unit; "" if there is none
}

// newBox returns the box of a job.
func newBox(s *Spec, filterActive bool, a *surroundings) *box {
	b := &box{
		Container: s.Container, name: containerName(s), argv: s.Argv, dir: s.Dir, umask: s.Umask, tty: s.TTY,
		init: a.self, runtime: runtimeDir(a.base), home: cmp.Or(valueOf(a.base, "HOME"), s.Home),
	}
	for _, g := range s.GPUs {
		b.gpus = append(b.gpus, g.UUID)
	}
	if s.Scratch != "" {
		b.Mounts = append(slices.Clip(b.Mounts), contract.Mount{Source: s.Scratch, Target: s.Scratch})
	}
	b.named = len(b.gpus) > 0 && !slices.ContainsFunc(b.gpus, func(uuid string) bool { return !namesDevice(a.cdi, uuid) })
	// CUDA sees no other GPU, and counts from 0.
	fromZero := filterActive || b.Engine == contract.Docker || b.Engine == contract.Podman && b.named
	if b.Engine == contract.Docker {
		b.docker = newDockerBox(s, a)
	}
	b.argv = withCUDA(s, fromZero)
	b.setVariables(s, fromZero, a)
	b.setOutside(a.base)
	return b
}

// containerName returns the name of an attempt's container.
func containerName(s *Spec) string {
	return contract.UnitPrefix + strconv.FormatInt(s.JobID, 10) + "-" + strconv.Itoa(s.Attempt)
}

// runtimeDir returns the directory that systemd made for the user's containers in jobs.
func runtimeDir(base []string) string {
	for dir := range strings.SplitSeq(valueOf(base, "RUNTIME_DIRECTORY"), ":") {
		if path.Base(path.Dir(dir)) == contract.ContainersDir {
			return dir
		}
	}
	return ""
}

// namesDevice reports whether one of the CDI files, in YAML or JSON, has a device of this name.
func namesDevice(files []string, name string) bool {
	for _, text := range files {
		for line := range strings.SplitSeq(strings.ReplaceAll(text, ",", "\n"), "\n") {
			key, value, _ := strings.Cut(line, ":")
			if strings.Trim(key, "-{[ \t\"'") == "name" && strings.Trim(value, "]} \t\r\"'") == name {
				return true
			}
		}
	}
	return false
}

// setVariables sets the variables that enter the container: those of the scheduler, those that the
// submitter asked for, and some about the user. The image has its own PATH and shell.
func (b *box) setVariables(s *Spec, fromZero bool, a *surroundings) {
	var own []string
	for _, name := range []string{"HOME", "USER", "LOGNAME", "LANG"} {
		if v := valueOf(a.base, name); v != "" {
			own = append(own, name+"="+v)
		}
	}
	asked := *s
	asked.EnvMode = contract.EnvClean
	e := environmentOf(&asked, fromZero, own)
	for _, name := range []string{"PATH", "SHELL"} {
		if !slices.ContainsFunc(s.Env, func(kv string) bool { return nameOf(kv) == name }) {
			e.remove(name)
		}
	}
	e.rendezvous(s, a.free)
	if b.Engine == contract.Podman {
		e.set(contract.GroupVariable, a.group)
		if len(s.Aimed) > 0 {
			e.set(contract.AimedVariable, signalsWord(s.Aimed))
		}
	}
	b.env, b.say = e.variables(), e.say
}

// setOutside sets the environment of the engine. Podman must not find the user's own session,
// because it would put the container into a control group there, outside the job, or fail once that
// session has ended.
func (b *box) setOutside(base []string) {
	e := &environment{index: map[string]int{}}
	for _, kv := range base {
		if kind := kindOf(nameOf(kv)); kind == plain || kind == preference {
			e.put(kv)
		}
	}
	e.orSet("PATH", defaultPath)
	e.orSet("HOME", b.home)
	if b.Engine == contract.Podman {
		e.orSet("XDG_RUNTIME_DIR", b.runtime)
		e.set("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
	}
	b.outside = e.variables()
}

// ownOptions returns the submitter's own options for the engine, and --init once more. If the last
// of the submitter's options lacks its value, the engine takes --init as that value, and not the
// image.
func (b *box) ownOptions() []string {
	if len(b.Args) == 0 {
		return nil
	}
	return append(slices.Clone(b.Args), "--init")
}

// start returns the command that starts the container, and its environment.
func (b *box) start() (argv, env []string) {
	switch b.Engine {
	case contract.Apptainer:
		return append(b.apptainer(), b.argv...), b.apptainerEnvironment()
	case contract.Docker:
		return b.dockerRun()
	}
	argv = b.podman("run", "--pull=never", "--rm", "--replace", "--name="+b.name, "--init", "--init-path="+b.init,
		"--cgroups=disabled", "--cgroupns=host", "--sdnotify=ignore", "--network=host", "--ipc=host",
		"--security-opt=label=disable", "--group-add=keep-groups", fmt.Sprintf("--umask=%04o", b.umask), "--workdir="+b.dir)
	if b.tty {
		argv = append(argv, "--interactive", "--tty", "--log-driver=none") // podman refuses passthrough in a terminal
	} else {
		argv = append(argv, "--log-driver=passthrough")
	}
	if b.KeepIDs {
		argv = append(argv, "--userns=keep-id")
	}
	for _, gpu := range b.devices() {
		argv = append(argv, "--device="+gpu)
	}
	argv = append(argv, b.mountOptions()...)
	options, env := b.variableOptions()
	return slices.Concat(argv, options, b.ownOptions(), []string{b.Image}, b.argv), env
}

// mountOptions returns the options of Podman and Docker for the mounts.
func (b *box) mountOptions() (list []string) {
	for _, m := range b.mounts() {
		fields := []string{"type=bind", "src=" + m.Source, "dst=" + m.Target}
		if m.ReadOnly {
			fields = append(fields, "ro=true")
		}
		list = append(list, "--mount="+commaSeparated(fields))
	}
	return list
}

// variableOptions returns the options of Podman and Docker for the variables of the container, and
// the environment of the engine that the options refer to.
func (b *box) variableOptions() (list, env []string) {
	env = slices.Clone(b.outside)
	for _, kv := range b.env {
		if name := nameOf(kv); meansSomething(name) {
			list = append(list, "--env="+kv)
		} else { // a value may be secret, and other users can read a command line
			list, env = append(list, "--env="+name), append(env, kv)
		}
	}
	return list, env
}

// enter returns the words that precede a command that is to run in the container beside the job's
// command, and the environment of the whole command. The argument term is the TERM of a command in
// a terminal.
func (b *box) enter(tty bool, term string) (argv, env []string) {
	if b.Engine == contract.Apptainer { // a new container with the same options: running containers have no names
		env = b.apptainerEnvironment()
		if term != "" {
			env = append(env, "APPTAINERENV_TERM="+term)
		}
		return b.apptainer(), env
	}
	engine := b.podman
	if b.Engine == contract.Docker {
		engine = b.dockerCommand
	}
	argv = engine("exec", "--interactive", "--workdir="+b.dir)
	if tty {
		argv = append(argv, "--tty")
	}
	if term != "" {
		argv = append(argv, "--env=TERM="+term)
	}
	return append(argv, b.name), b.outside
}

// podman returns a command of Podman. The containers of jobs have directories of their own: a job
// that is killed leaves these directories in a state in which Podman refuses every command, and the
// user's other containers must not notice that. Jobs can still use the user's own images.
func (b *box) podman(words ...string) []string {
	argv := []string{"podman"}
	if b.Store != "" {
		argv = append(argv, "--root="+b.store(), "--storage-opt="+b.Driver+".imagestore="+b.Store)
	}
	if b.Driver != "" {
		argv = append(argv, "--storage-driver="+b.Driver)
	}
	if b.runtime != "" {
		argv = append(argv, "--runroot="+b.runtime+"/run", "--tmpdir="+b.runtime+"/tmp")
	}
	argv = append(argv, "--events-backend=none", "--log-level=error", "--cgroup-manager=cgroupfs", "--runtime=crun")
	return append(argv, words...)
}

// store returns the directory of the containers of jobs. Podman notes there where its runtime
// directory is, and refuses any other. So a scheduler of the user's own, whose runtime directory is
// in the user's session, has another store.
func (b *box) store() string {
	dir := contract.StoreDir
	if b.runtime != "" && !strings.HasPrefix(b.runtime, "/run/"+contract.ContainersDir+"/") {
		dir = contract.OwnStoreDir
	}
	return path.Join(b.Store, dir)
}

// devices returns the names of the job's GPUs in CDI files. If the files do not name GPUs by UUID,
// the container gets the nodes of all GPUs, and the device filter refuses those of other jobs.
func (b *box) devices() []string {
	const kind = "nvidia.com/gpu="
	if len(b.gpus) == 0 {
		return nil
	}
	if !b.named {
		return []string{kind + "all"}
	}
	list := make([]string, len(b.gpus))
	for i, uuid := range b.gpus {
		list[i] = kind + uuid
	}
	return list
}

// mounts returns the mounts of the container: the home directory, the working directory, and those
// that the submitter asked for. The root directory stays that of the image.
func (b *box) mounts() (list []contract.Mount) {
	for _, dir := range []string{b.home, b.dir} {
		within := slices.ContainsFunc(list, func(m contract.Mount) bool { return isWithin(dir, m.Target) })
		if path.IsAbs(dir) && path.Clean(dir) != "/" && !within {
			list = append(list, contract.Mount{Source: dir, Target: dir})
		}
	}
	return append(list, b.Mounts...)
}

// commaSeparated joins fields with commas, and quotes a field that contains a comma.
func commaSeparated(fields []string) string {
	list := slices.Clone(fields)
	for i, f := range list {
		if strings.ContainsAny(f, ",\"\n\r") {
			list[i] = `"` + strings.ReplaceAll(f, `"`, `""`) + `"`
		}
	}
	return strings.Join(list, ",")
}

// meansSomething reports whether a variable has a meaning for Podman, for Docker or for one of
// their programs, or has a name that they do not take literally. Variables with passwords or keys,
// such as GOOGLE_API_KEY and DOCKER_PASSWORD, have no such meaning.
func meansSomething(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "BASH_ENV", "ENV", "IFS", "PODMAN", "CONTAINERS_CONF", "REGISTRY_AUTH_FILE",
		"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GOCOVERDIR", "GNUPGHOME", "SSH_AUTH_SOCK":
		return true
	}
	for _, prefix := range []string{
		"LD_", "GLIBC_", "MALLOC_", "XDG_", "DBUS_", "CONTAINER", "_CONTAINER", "PODMAN_", "DOCKER_API", "DOCKER_CERT", "DOCKER_CON",
		"DOCKER_DEFAULT", "DOCKER_HOST", "DOCKER_TLS", "STORAGE_", "BUILDAH_", "NETAVARK_", "CRUN_", "NOTIFY_", "LISTEN_", "TMP", "SSL_",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

// apptainer returns the words that precede a command to run it in a container.
func (b *box) apptainer() []string {
	argv := []string{"apptainer", "exec", "--cleanenv"}
	if len(b.gpus) > 0 {
		argv = append(argv, "--nv")
	}
	for _, m := range b.mounts() {
		bind := escapeBind(m.Source) + ":" + escapeBind(m.Target)
		if m.ReadOnly {
			bind += ":ro"
		}
		argv = append(argv, "--bind", bind)
	}
	return append(slices.Concat(argv, []string{"--pwd", b.dir}, b.Args), b.Image)
}

// escapeBind returns a path for Apptainer's list of binds, in which commas and colons are
// separators.
func escapeBind(path string) string {
	return strings.NewReplacer(`,`, `\,`, `:`, `\:`).Replace(path)
}

// apptainerEnvironment returns the environment of Apptainer. Variables in it that begin with
// APPTAINERENV_ are set in the container, without that prefix. Apptainer sets HOME itself and
// accepts no other value.
func (b *box) apptainerEnvironment() []string {
	env := slices.Clone(b.outside)
	for _, kv := range b.env {
		if nameOf(kv) != "HOME" {
			env = append(env, "APPTAINERENV_"+kv)
		}
	}
	return env
}
