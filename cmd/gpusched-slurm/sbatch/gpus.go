package sbatch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// addGPUs adds the options that request GPUs.
func (m *mapping) addGPUs() {
	if m.r.GPUMilli == 0 {
		return
	}
	var constraints []string
	kind, feature := m.gpuType()
	if feature != "" {
		constraints = append(constraints, feature)
	}
	if m.r.Part() > 0 {
		m.addPart()
		if kind != "" {
			if f := m.featureNamed(kind); f != "" && feature == "" {
				constraints = append(constraints, f)
			} else if feature == "" && len(m.site.GPUTypes) > 1 {
				m.refuse("a part of a GPU has no type there, and no node has the feature %s (--gpu-type)", kind)
			}
		}
	} else {
		m.addWhole(kind)
	}
	if c := m.memConstraint(kind); c != "" {
		constraints = append(constraints, c)
	}
	if len(constraints) > 0 {
		m.add("constraint", m.constraint(constraints))
	}
}

// addWhole requests whole GPUs. If the job script requests them per task, so does addWhole, because
// the tasks may be on several nodes.
func (m *mapping) addWhole(kind string) {
	for _, o := range m.site.Options {
		if perTask, is := strings.CutPrefix(o, "--gpus-per-task="); is {
			m.add("gpus-per-task", typed(kind)+perTask)
			return
		}
	}
	m.add("gres", "gpu:"+typed(kind)+strconv.Itoa(m.r.Whole()))
}

func typed(kind string) string {
	if kind == "" {
		return ""
	}
	return kind + ":"
}

// gpuType returns the gres type that the request names, or the node feature that means this type.
func (m *mapping) gpuType() (kind, feature string) {
	asked := m.r.GPUType
	if asked == "" {
		return "", ""
	}
	var near []string
	for _, t := range m.site.GPUTypes {
		if strings.EqualFold(t, asked) {
			return t, ""
		}
		if strings.Contains(strings.ToLower(t), strings.ToLower(asked)) {
			near = append(near, t)
		}
	}
	switch f := m.featureNamed(asked); {
	case len(near) == 1:
		return near[0], ""
	case len(near) > 1:
		m.refuse("--gpu-type %s could be any of %s: write one of them", asked, strings.Join(near, ", "))
	case f != "":
		return "", f
	case len(m.site.GPUTypes) == 0:
		m.refuse("its GPUs have no types (Type= in gres.conf), and no node has the feature %q (--gpu-type)", asked)
	default:
		m.refuse("it has no GPUs of type %q; there is %s (--gpu-type)", asked, strings.Join(m.site.GPUTypes, ", "))
	}
	return "", ""
}

func (m *mapping) featureNamed(name string) string {
	for _, f := range m.site.Features {
		if strings.EqualFold(f, name) {
			return f
		}
	}
	return ""
}

// addPart requests a part of one GPU.
func (m *mapping) addPart() {
	part := m.r.Part()
	switch {
	case m.r.Whole() > 0: // refuseForeign refuses this request
	case m.site.Shards > 0:
		n := (part*m.site.Shards + job.WholeGPU - 1) / job.WholeGPU
		if b := m.site.ShardBytes; b > 0 && m.r.GPUMemBytes > 0 {
			n = max(n, int((m.r.GPUMemBytes+b-1)/b))
		}
		if most := max(m.site.Shards, m.site.MostShards); n > most {
			m.refuse("--gpu-mem %s is more than a GPU has: %d shards of %s", job.FormatSize(m.r.GPUMemBytes), most, job.FormatSize(m.site.ShardBytes))
		}
		m.add("gres", fmt.Sprintf("shard:%d", n))
	case m.site.MPS > 0:
		m.add("gres", fmt.Sprintf("mps:%d", (part*m.site.MPS+job.WholeGPU-1)/job.WholeGPU))
	default:
		m.refuse("it gives whole GPUs only: for %s of one its slurm.conf needs GresTypes=gpu,shard, and gres.conf lines with Name=shard (or mps)",
			job.GPUs(m.r.GPUMilli))
	}
}

// memConstraint returns a constraint that selects nodes whose GPUs have enough memory. A part of a
// GPU gets the same part of its memory. If shards are amounts of memory, all shards of a job must
// be on one GPU; Slurm does not check this.
func (m *mapping) memConstraint(kind string) string {
	need := m.r.GPUMemBytes
	if need <= 0 {
		return ""
	}
	shards := m.r.Part() > 0 && m.site.Shards > 0 && m.site.ShardBytes > 0
	if m.r.Part() > 0 && !shards {
		need = need * job.WholeGPU / int64(m.r.Part())
	}
	if bytes, ok := TypeMem(kind); ok && bytes >= need {
		return ""
	}
	var enough, all []string
	for _, f := range m.site.Features {
		if bytes, ok := FeatureMem(f); ok {
			all = append(all, f)
			if bytes >= need {
				enough = append(enough, f)
			}
		}
	}
	switch {
	case shards && len(enough) == len(all):
		return ""
	case len(enough) > 0:
		return strings.Join(enough, "|")
	case len(all) > 0:
		m.refuse("no node has GPUs with %s: their features say %s (--gpu-mem)", job.FormatSize(need), strings.Join(all, ", "))
	default:
		m.refuse("it does not know how much memory its GPUs have: no feature of a node says so, such as Feature=gpu_mem_80gb in slurm.conf; use --gpu-type (--gpu-mem)")
	}
	return ""
}

// constraint combines the given constraints with the one in the site's options, so that a node must
// meet all of them.
func (m *mapping) constraint(list []string) string {
	for i := len(m.site.Options) - 1; i >= 0; i-- {
		if c, ok := strings.CutPrefix(m.site.Options[i], "--constraint="); ok {
			list = append(list, c)
			break
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	for i, c := range list {
		if strings.Contains(c, "|") {
			list[i] = "(" + c + ")"
		}
	}
	return strings.Join(list, "&")
}

// memSizes are the memory sizes of GPUs in GB. A bare number in
// a name counts as a memory size only if it is one of these.
var memSizes = []int64{16, 24, 32, 40, 48, 80, 94, 96, 141, 180, 192}

// FeatureMem returns the GPU memory that a node feature names. Sites write gpu_mem_80gb,
// GPU_MEM:80GB, vram80, gmem48g or gpu80.
func FeatureMem(name string) (bytes int64, ok bool) {
	rest := strings.ToLower(name)
	sure := false
	for _, prefix := range []string{"gpu_mem", "gpu-mem", "gpumem", "gmem", "vram", "gpuram", "gpu"} {
		if after, found := strings.CutPrefix(rest, prefix); found {
			rest, sure, ok = strings.TrimLeft(after, "_-:="), prefix != "gpu", true
			break
		}
	}
	if !ok {
		return 0, false
	}
	n, unit, ok := gigabytes(rest)
	if !ok || !sure && !unit && !slices.Contains(memSizes, n) {
		return 0, false
	}
	return n << 30, true
}

// ShardMem returns the GPU memory of a shard from a node feature such as shard_1gb.
func ShardMem(name string) (bytes int64, ok bool) {
	size, ok := strings.CutPrefix(strings.ToLower(name), "shard_")
	n, unit, is := gigabytes(size)
	return n << 30, ok && is && unit
}

// TypeMem returns the memory of a GPU from the name of its type, such as a100_80gb.
func TypeMem(name string) (bytes int64, ok bool) {
	part := func(r rune) bool { return strings.ContainsRune("-_.:", r) }
	for word := range strings.FieldsFuncSeq(strings.ToLower(name), part) {
		if n, unit, ok := gigabytes(word); ok && unit {
			return n << 30, true
		}
	}
	return 0, false
}

// gigabytes parses 80, 80g, 80gb and 80gib, and reports whether there is a unit.
func gigabytes(s string) (n int64, unit, ok bool) {
	number := strings.TrimRight(s, "gib")
	switch s[len(number):] {
	case "g", "gb", "gib":
		unit = true
	case "":
	default:
		return 0, false, false
	}
	n, err := strconv.ParseInt(number, 10, 32)
	return n, unit, err == nil && n > 0 && n <= 2048
}
