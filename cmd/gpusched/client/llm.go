package client

import "github.com/gpusched/gpusched/daemon/job"

// modelOptions ask for what a model needs, by its name.
type modelOptions struct {
	LLM       string `name:"llm" placeholder:"NAME" group:"needs" brief:"Ask for what the table of models says of this one" help:"Ask for the GPUs and the GPU memory that the table of models has for this one; auto takes the name from --llm in the command. -g and --gpu-mem win."`
	LLMConfig string `name:"llm-config" placeholder:"FILE" group:"needs" brief:"The table of models" help:"The table of models, TOML or JSON. Default: yours in ~/.config/gpusched and the site's in /etc/gpusched, models.toml or llm_config.json."`
}

// apply puts in what the model of the command needs, where the user says nothing else.
func (o *modelOptions) apply(a *app, argv []string, r *job.Request) error {
	if o.LLM == "" {
		return nil
	}
	return o.lookUp(a, argv, r)
}
