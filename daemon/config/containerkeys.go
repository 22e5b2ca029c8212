package config

import "github.com/gpusched/gpusched/units/contract"

// Containers has the settings about jobs whose command runs in a container.
type Containers struct {
	Engines []contract.Engine // engines that jobs may use, the preferred one first; empty: none
}

func containerKeys(in, _ string) []key {
	return []key{
		{section: in, name: "engines", doc: "The engines that may run a job's image (--image), in the order in which gpusched tries them: podman, apptainer and docker. A job uses the first one that is installed, that its user may use and that knows such images. Podman and Apptainer run as the job's user, in the job's unit. Docker runs as root: whoever may use it (group docker) can become root and open every GPU, so name docker only where users are trusted with that. Empty: jobs use no images.",
			bind: func(c *Config) value {
				return someOf(&c.Containers.Engines, "engines", "an engine", contract.Engines()...)
			}},
	}
}
