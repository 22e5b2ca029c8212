package contract

// Engine is a program that runs containers.
type Engine string

// The engines.
const (
	Podman    Engine = "podman"
	Apptainer Engine = "apptainer"
	Docker    Engine = "docker"
)

// Engines returns all engines.
func Engines() []Engine { return []Engine{Podman, Apptainer, Docker} }

// Container is the container in which a job's command runs. The zero value means that the command
// runs in none.
type Container struct {
	Engine Engine   `json:"engine,omitempty"`
	Image  string   `json:"image,omitempty"`  // as the submitter named it, or the absolute path of a file
	Mounts []Mount  `json:"mounts,omitempty"` // in addition to the user's home and the job's directory
	Args   []string `json:"args,omitempty"`   // further options of the engine's command that starts a container

	// KeepIDs means that the user has the same ids in the container as outside. Without it, Podman
	// makes the user root inside; Docker always keeps the ids.
	KeepIDs bool `json:"keep_ids,omitempty"`

	// Podman's driver and directory for the user's own images.
	Driver string `json:"driver,omitempty"`
	Store  string `json:"store,omitempty"`

	// CDI means that Docker accepts the names that GPUs have in CDI files (nvidia.com/gpu=UUID).
	// These files bring the driver's libraries into the container.
	CDI bool `json:"cdi,omitempty"`
}

// IsZero reports whether there is no container.
func (c Container) IsZero() bool { return c.Engine == "" }

// Mount is a directory or file that the container has from outside.
type Mount struct {
	Source   string `json:"source"` // absolute
	Target   string `json:"target"` // absolute
	ReadOnly bool   `json:"read_only,omitempty"`
}

// ContainersDir contains, for each user, a directory that systemd makes for the containers of that
// user's jobs. It is below /run, or below the runtime directory of a user's own systemd.
const ContainersDir = "gpujobs-containers"

// StoreDir is the directory in which Podman keeps the containers of jobs, within the directory of
// the user's images. The jobs of a user's own scheduler use OwnStoreDir instead.
const (
	StoreDir    = "gpusched"
	OwnStoreDir = "gpusched-own"
)

// ContainerEndFlag makes gpusched-job remove what is left of a job's container; the path of the
// spec follows. InsideFlag precedes HoldFlag in a job whose command runs in a container; it is
// followed by the path of the spec, from which gpusched-job learns how other commands enter that
// container.
const (
	ContainerEndFlag = "--container-end"
	InsideFlag       = "--inside"
)

// EngineFlag makes gpusched-job run a command of Podman and end as the container does. The next
// argument lists signals (see AimedFlag). The command follows.
const EngineFlag = "--engine"

// InitFlag is the first argument of gpusched-job as the first process in a container; the command
// follows. Podman chooses this flag. GroupVariable names the control group in which that process
// must be, and AimedVariable the signals that the process passes on to the command alone (see
// AimedFlag).
const (
	InitFlag      = "--"
	GroupVariable = "GPUSCHED_CONTROL_GROUP"
	AimedVariable = "GPUSCHED_AIMED"
)

// SystemdGroup returns the control group of a process in systemd's hierarchy, from the text of the
// process's file cgroup in /proc; "" if the text does not say. The text may have lines for other
// hierarchies before the line for systemd's.
func SystemdGroup(text string) string {
	const ofSystemd = "0::"
	for start, i := 0, 0; i <= len(text); i++ {
		if i < len(text) && text[i] != '\n' {
			continue
		}
		if line := text[start:i]; len(line) > len(ofSystemd) && line[:len(ofSystemd)] == ofSystemd {
			return line[len(ofSystemd):]
		}
		start = i + 1
	}
	return ""
}
