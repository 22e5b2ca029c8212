package onslurm

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/sbatch"
)

// The memory of GPUs and shards that 'gpusched export slurm' writes can be read back. Jobs can then
// request GPUs by their memory.
func TestExportedMemory(t *testing.T) {
	text, err := os.ReadFile("../slurmsite/testdata/two/slurm.conf")
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder // the nodes of the file, as scontrol prints them
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "NodeName=") {
			shown.WriteString(strings.ReplaceAll(line, " Feature=", " AvailableFeatures="))
		}
	}
	site := siteOf(nil, readNodes(shown.String()))
	if site.Shards != 80 || site.MostShards != 80 || site.ShardBytes != 1<<30 {
		t.Errorf("%+v", site)
	}
	for _, x := range []struct {
		milli int
		mem   int64
		want  string
	}{
		{1000, 20 << 30, "--constraint=gpu_mem_24gb|gpu_mem_80gb"}, {1000, 60 << 30, "--constraint=gpu_mem_80gb"},
		{500, 20 << 30, "--gres=shard:40"}, {500, 60 << 30, "--gres=shard:60"}, {500, 81 << 30, "80 shards of 1G"},
		{1000, 81 << 30, "their features say gpu_mem_24gb, gpu_mem_80gb"},
	} {
		r := simple()
		r.GPUMilli, r.GPUMemBytes = x.milli, x.mem
		s, err := sbatch.Command(r, site)
		if said := fmt.Sprint(s.Args, err); !strings.Contains(said, x.want) {
			t.Errorf("%d of a GPU with %d bytes: no %q in %s", x.milli, x.mem, x.want, said)
		}
	}
}

// The size of a shard is known if every node with shards states it. The smallest size counts.
func TestShards(t *testing.T) {
	plain := node{gres: "gpu:a100:2,shard:8", gpus: make([]nodeGPU, 2)}
	said := plain
	said.features = []string{"gpu_mem_40gb", "shard_10gb"}
	large := node{gres: "gpu:h100:2,shard:8", gpus: make([]nodeGPU, 2), features: []string{"x", "shard_20gb", "gpu_mem_80gb"}}
	one := node{gres: "gpu:a100:2,shard:4", gpus: make([]nodeGPU, 2), features: said.features} // only one GPU has shards
	for _, x := range []struct {
		nodes        []node
		fewest, most int
		bytes        int64
	}{
		{nil, 0, 0, 0}, {[]node{{gres: "gpu:2", gpus: make([]nodeGPU, 2)}}, 0, 0, 0}, {[]node{plain}, 4, 4, 0}, {[]node{said}, 4, 4, 10 << 30},
		{[]node{said, large}, 4, 4, 10 << 30}, {[]node{large, plain}, 4, 4, 0}, {[]node{plain, large}, 4, 4, 0}, {[]node{one}, 4, 4, 10 << 30},
		{[]node{said, {gres: "gpu:8,shard:64", gpus: make([]nodeGPU, 8), features: []string{"shard_5gb"}}}, 4, 8, 5 << 30},
	} {
		if fewest, most, bytes := shardsOf(x.nodes); fewest != x.fewest || most != x.most || bytes != x.bytes {
			t.Errorf("%+v: %d, %d, %d", x.nodes, fewest, most, bytes)
		}
	}
}
