package estimate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Cmd estimates the GPU memory of a model.
type Cmd struct {
	Context int64 `name:"context" placeholder:"N" default:"4096"`
	Batch   int64 `name:"batch" placeholder:"N" default:"1"`
	Train   bool  `name:"train"`
	cli.OutputFlags

	Model string `arg:"" name:"model" help:"The model: its directory, or its name in your cache of downloaded ones, such as Qwen/Qwen2.5-7B-Instruct."`
}

func (*Cmd) About() cli.About {
	return cli.About{Host: cli.OnlyHere, Hosts: cli.OneAtATime, Slurm: cli.ForSlurm, Habits: manual.OptionsOfEstimate}
}

// estimateDoc is the command's JSON document.
type estimateDoc struct {
	Schema string         `json:"schema"`
	Path   string         `json:"path"`
	Params int64          `json:"parameters,omitempty"`
	Terms  []estimateTerm `json:"terms"`
	Bytes  int64          `json:"bytes"`
	Flags  string         `json:"flags"`
}

// An estimateTerm is one part of the memory that a model needs.
type estimateTerm struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	How   string `json:"how"`
}

func (c *Cmd) Run(ctx context.Context, a *cli.App) error {
	if c.Context < 1 || c.Context > 1<<30 || c.Batch < 1 || c.Batch > 1<<20 {
		return cli.Usagef("--context is a number from 1 to %d, and --batch from 1 to %d", 1<<30, 1<<20)
	}
	dir, err := model(jobenv.Surroundings{Dir: ".", Getenv: a.Getenv}, c.Model)
	if err != nil {
		return err
	}
	doc, err := c.estimate(dir)
	if err != nil {
		return cli.Refuse(api.CodeUsage, "a model is a directory with config.json and safetensors files, or their index", "%v", err)
	}
	var size int64
	if reply, err := api.GPUs(ctx, a.Client); err == nil {
		for _, g := range reply.GPUs {
			size = max(size, int64(g.MemTotalBytes))
		}
	}
	doc.Flags = flagsFor(doc.Bytes, size)
	return cli.Report[estimateTerm]{
		Doc: doc, Whole: true, Rows: doc.Terms, Cols: estimateColumns, IDs: []string{fmt.Sprint(doc.Bytes)},
		Text: func(bool) { writeEstimate(a.Out, doc) },
	}.Show(a, c.OutputFlags)
}

var estimateColumns = []term.Column[estimateTerm]{
	{Key: "term", Cell: func(t estimateTerm) string { return t.Name }},
	{Key: "bytes", Cell: func(t estimateTerm) string { return fmt.Sprint(t.Bytes) }},
	{Key: "how", Cell: func(t estimateTerm) string { return t.How }},
}

func writeEstimate(t *term.Terminal, doc estimateDoc) {
	t.Printf("%s\n", term.Clean(doc.Path))
	for _, e := range doc.Terms {
		t.Printf("  %-12s %8s  %s\n", e.Name, gib(e.Bytes), e.How)
	}
	t.Printf("  %-12s %8s\nsubmit with: %s\n", "total", gib(doc.Bytes), doc.Flags)
}

func gib(n int64) string { return fmt.Sprintf("%.2fG", float64(n)/(1<<30)) }

// flagsFor returns the options that request this much memory on GPUs of this size. A size of 0
// means that the size is unknown.
func flagsFor(bytes, size int64) string {
	whole := func(n int64) string {
		n = (n + 1<<30 - 1) >> 30 << 30
		if size > 0 {
			n = min(n, size)
		}
		return job.FormatSize(n)
	}
	switch {
	case size <= 0:
		return "-g 1 --gpu-mem " + whole(bytes)
	case bytes > size:
		n := (bytes + size - 1) / size
		return fmt.Sprintf("-g %d --gpu-mem %s", n, whole((bytes+n-1)/n))
	}
	share := math.Ceil(100*float64(bytes)/float64(size)) / 100
	if share >= 0.9 {
		return "-g 1 --gpu-mem " + job.FormatSize(min(size, (bytes+1<<20-1)>>20<<20))
	}
	return fmt.Sprintf("-g %g --gpu-mem %s", share, whole(bytes))
}

// modelConfig is the content of config.json, for a text model or for the text part of a model.
type modelConfig struct {
	Layers   float64 `json:"num_hidden_layers"`
	Heads    float64 `json:"num_attention_heads"`
	KVHeads  float64 `json:"num_key_value_heads"`
	HeadDim  float64 `json:"head_dim"`
	Hidden   float64 `json:"hidden_size"`
	Vocab    float64 `json:"vocab_size"`
	Rank     float64 `json:"kv_lora_rank"`
	RopeDim  float64 `json:"qk_rope_head_dim"`
	OldLayer float64 `json:"n_layer"`
	OldHeads float64 `json:"n_head"`
	OldWidth float64 `json:"n_embd"`
	DType    string  `json:"torch_dtype"`
	NewDType string  `json:"dtype"`

	Text *modelConfig `json:"text_config"`
}

// estimate adds up the terms by common rules of thumb. It measures nothing.
func (c *Cmd) estimate(dir string) (doc estimateDoc, err error) {
	var m modelConfig
	if err := readJSON(filepath.Join(dir, "config.json"), &m); err != nil {
		return doc, fmt.Errorf("%q: %w", filepath.Join(dir, "config.json"), err)
	}
	dtype := cmp.Or(m.DType, m.NewDType)
	if m.Text != nil {
		dtype = cmp.Or(dtype, m.Text.DType, m.Text.NewDType)
		m = *m.Text
	}
	w, err := weightsOf(dir)
	if err != nil {
		return doc, err
	}
	each := dtypeBytes(dtype)
	params := cmp.Or(float64(w.params), float64(w.bytes)/each)
	layers, hidden := cmp.Or(m.Layers, m.OldLayer), cmp.Or(m.Hidden, m.OldWidth)
	heads := cmp.Or(m.Heads, m.OldHeads)
	if layers <= 0 || hidden <= 0 || heads <= 0 {
		return doc, fmt.Errorf("config.json of %q lacks the number of layers, the number of heads or the hidden size", dir)
	}
	doc = estimateDoc{Schema: api.Schema, Path: dir, Params: int64(params)}
	sum := 0.0
	add := func(name string, bytes float64, how string) {
		sum += bytes
		doc.Terms = append(doc.Terms, estimateTerm{name, int64(min(bytes, 1<<60)), how})
	}
	tokens := float64(c.Context) * float64(c.Batch)
	add("weights", float64(w.bytes), fmt.Sprintf("%.2f billion parameters", params/1e9))
	if c.Train {
		add("gradients", params*each, fmt.Sprintf("%g bytes a parameter", each))
		add("optimizer", params*12, "12 bytes a parameter: two moments and a copy of the weights in 32 bits")
		add("activations", tokens*(2*hidden*layers+6*m.Vocab), "with checkpoints at each layer, and the logits")
	} else {
		kv := 2 * cmp.Or(m.KVHeads, heads) * cmp.Or(m.HeadDim, hidden/heads)
		if m.Rank > 0 { // keys and values share one latent vector
			kv = m.Rank + m.RopeDim
		}
		add("KV cache", tokens*layers*kv*max(each, 2), fmt.Sprintf("%d x %d tokens", c.Batch, c.Context))
	}
	add("overhead", 1<<30+sum/20, "CUDA and the framework: 1G, and a twentieth of the rest")
	if math.IsNaN(sum) || sum > 1<<60 {
		return doc, fmt.Errorf("config.json of %q has impossible values", dir)
	}
	doc.Bytes = int64(sum)
	return doc, nil
}

// model returns the directory of a model: the named directory, or the snapshot in the user's
// download cache.
func model(at jobenv.Surroundings, name string) (string, error) {
	if jobenv.IsThere(name, "config.json") {
		return name, nil
	}
	cache := at.Getenv("HF_HUB_CACHE")
	if cache == "" {
		home := cmp.Or(at.Getenv("HF_HOME"), filepath.Join(at.Getenv("HOME"), ".cache/huggingface"))
		cache = filepath.Join(home, "hub")
	}
	entries, _ := os.ReadDir(cache)
	var known []string
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), "models--"); ok {
			known = append(known, strings.Replace(rest, "--", "/", 1))
		}
	}
	root := filepath.Join(cache, "models--"+strings.ReplaceAll(name, "/", "--"))
	if !strings.Contains(name, "..") {
		ref, _ := jobenv.ReadAtMost(filepath.Join(root, "refs/main"), 256)
		dirs, _ := filepath.Glob(filepath.Join(root, "snapshots/*"))
		for _, dir := range append([]string{filepath.Join(root, "snapshots", filepath.Base(strings.TrimSpace(string(ref))))}, dirs...) {
			if jobenv.IsThere(dir, "config.json") {
				return dir, nil
			}
		}
	}
	hint := "in " + cache + " there is " + jobenv.FirstOf(known)
	if len(known) == 0 {
		hint = "there is none in " + cache + "; name its directory"
	} else if near := job.Nearest(name, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	return "", cli.Refuse(api.CodeNotFound, hint, "there is no model %q, neither as a directory with config.json nor in your cache", name)
}
