package estimate

import (
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/job"
)

// ModelOptions ask for what a named model needs.
type ModelOptions struct {
	LLM       string `name:"llm" placeholder:"NAME" group:"needs"`
	LLMConfig string `name:"llm-config" placeholder:"FILE" group:"needs"`
}

// Apply fills in what the model needs where the user asks for nothing else.
func (o *ModelOptions) Apply(a *cli.App, argv []string, r *job.Request) error {
	if o.LLM == "" {
		return nil
	}
	return o.lookUp(a, argv, r)
}
