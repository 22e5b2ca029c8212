package onslurm

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/sbatch"
)

// siteMaxAge is how long the cached site is used. Asking Slurm for the site takes longer than a
// submission.
const siteMaxAge = 10 * time.Minute

// site returns what is known about the Slurm. It asks Slurm if anew is set or there is no cache,
// and otherwise uses the cache. The second result reports whether it asked Slurm.
func (e *Engine) site(ctx context.Context, anew bool) (s sbatch.Site, fresh bool, err error) {
	path := e.siteFile()
	if !anew && readSite(path, e.uid, &s) {
		s.Options = e.slurm.Options
		return s, false, nil
	}
	if s, err = e.askSite(ctx); err != nil {
		return s, true, err
	}
	writeSite(path, &s)
	s.Options = e.slurm.Options
	return s, true, nil
}

// siteFile returns the path of the cached site in the user's cache directory.
// Each cluster has its own file. For root it returns "": root's HOME may be
// that of the user who called sudo, where links may lead anywhere.
func (e *Engine) siteFile() string {
	if e.uid == 0 {
		return ""
	}
	dir := e.slurm.Variable("XDG_CACHE_HOME")
	if dir == "" {
		dir = filepath.Join(e.slurm.Variable("HOME"), ".cache")
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	h := fnv.New64a()
	h.Write([]byte(e.slurm.Variable("SLURM_CONF") + "\x00" + e.slurm.Variable("PATH")))
	return filepath.Join(dir, "gpusched", fmt.Sprintf("slurm-%016x.json", h.Sum64()))
}

// readSite reads the site from a file. It reports whether the
// file belongs to the user, is not too old and could be read.
func readSite(path string, uid int, s *sbatch.Site) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if path == "" || err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return false
	}
	age := time.Since(info.ModTime())
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != uid || age < 0 || age > siteMaxAge {
		return false
	}
	return json.NewDecoder(f).Decode(s) == nil
}

// writeSite writes the cache. If that fails, the following call asks Slurm again.
func writeSite(path string, s *sbatch.Site) {
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".slurm-*")
	if err != nil {
		return
	}
	defer os.Remove(f.Name())
	err = json.NewEncoder(f).Encode(s)
	if f.Close() == nil && err == nil {
		_ = os.Rename(f.Name(), path)
	}
}

// askSite asks Slurm for the site. Without accounting the site has no QOS.
func (e *Engine) askSite(ctx context.Context) (sbatch.Site, error) {
	config, err := e.slurm.Config(ctx)
	if err != nil {
		return sbatch.Site{}, err
	}
	nodes, err := e.nodes(ctx)
	if err != nil {
		return sbatch.Site{}, err
	}
	s := siteOf(config, nodes)
	s.Home, s.Admin = e.slurm.Variable("HOME"), e.uid == 0
	if qos, err := e.slurm.Ask(ctx, "sacctmgr", "--noheader", "--parsable2", "show", "assoc", "where",
		"user="+e.slurm.Variable("USER"), "format=QOS"); err == nil {
		for line := range strings.Lines(string(qos)) {
			s.QOS = append(s.QOS, strings.Split(strings.TrimSpace(line), ",")...)
		}
		slices.Sort(s.QOS)
		s.QOS = slices.Compact(s.QOS)
	}
	return s, nil
}

func siteOf(config map[string]string, nodes []node) (s sbatch.Site) {
	s.Version, _ = sbatch.ParseVersion(config["SLURM_VERSION"])
	s.MaxArraySize, _ = strconv.Atoi(config["MaxArraySize"])
	if n, err := strconv.Atoi(strings.TrimSuffix(config["KillWait"], " sec")); err == nil {
		s.KillWait = time.Duration(n) * time.Second
	}
	for _, n := range nodes {
		for _, g := range n.gpus {
			if g.kind != "" {
				s.GPUTypes = append(s.GPUTypes, g.kind)
			}
		}
		s.Features = append(s.Features, n.features...)
		if len(n.gpus) > 0 {
			s.MPS = minNonZero(s.MPS, gresCount(n.gres, "mps")/len(n.gpus))
		}
	}
	s.Shards, s.MostShards, s.ShardBytes = shardsOf(nodes)
	slices.Sort(s.GPUTypes)
	slices.Sort(s.Features)
	s.GPUTypes, s.Features = slices.Compact(s.GPUTypes), slices.Compact(s.Features)
	return s
}

// shardsOf returns the smallest and the largest number of shards
// of a GPU, and the memory of a shard. If a node states the memory
// of both a shard and a GPU, some of its GPUs may have no shards.
func shardsOf(nodes []node) (fewest, most int, bytes int64) {
	known := true
	for _, n := range nodes {
		count := gresCount(n.gres, "shard")
		if count == 0 || len(n.gpus) == 0 {
			continue
		}
		shard, gpu := n.memory(sbatch.ShardMem), n.memory(sbatch.FeatureMem)
		per := count / len(n.gpus)
		if shard > 0 && gpu > 0 {
			per = min(count, int(gpu/shard))
		}
		fewest, most = minNonZero(fewest, per), max(most, per)
		if known = known && shard > 0; known && (bytes == 0 || shard < bytes) {
			bytes = shard
		}
	}
	if !known {
		bytes = 0
	}
	return fewest, most, bytes
}

// memory returns the amount of memory in the first matching feature of the node, or 0.
func (n *node) memory(of func(feature string) (int64, bool)) int64 {
	for _, f := range n.features {
		if bytes, ok := of(f); ok {
			return bytes
		}
	}
	return 0
}

// minNonZero returns the smaller of two amounts. An amount of 0 means that there is none.
func minNonZero(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// gresCount counts a resource in a list such as "gpu:a100:4,shard:a100:16".
func gresCount(gres, name string) (total int) {
	for part := range strings.SplitSeq(gres, ",") {
		part, _, _ = strings.Cut(part, "(")
		words := strings.Split(part, ":")
		if n, err := strconv.Atoi(words[len(words)-1]); err == nil && words[0] == name {
			total += n
		}
	}
	return total
}
