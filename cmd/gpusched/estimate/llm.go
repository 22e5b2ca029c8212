package client

import "github.com/gpusched/gpusched/daemon/job"

// modelOptions ask for what a model needs, by its name.
type modelOptions struct {
	LLM       string `name:"llm" placeholder:"NAME" group:"needs"`
	LLMConfig string `name:"llm-config" placeholder:"FILE" group:"needs"`
}

// apply puts in what the model of the command needs, where the user says nothing else.
func (o *modelOptions) apply(a *app, argv []string, r *job.Request) error {
	if o.LLM == "" {
		return nil
	}
	return o.lookUp(a, argv, r)
}
