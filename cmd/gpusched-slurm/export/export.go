package export

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/slurmsite"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/directory"
	"github.com/gpusched/gpusched/daemon/directory/getent"
	"github.com/gpusched/gpusched/daemon/job"
)

// Run writes the configuration files of a Slurm with this machine's hardware and rules.
func Run(ctx context.Context, s engines.Shell, c engines.Export) error {
	settings, origins, err := s.Settings()
	if err != nil {
		return err
	}
	node, err := thisNode(ctx, &s, &settings)
	if err != nil {
		return err
	}
	if c.Node {
		return printNode(&s, node)
	}
	site := slurmsite.Site{Cluster: c.Cluster, Nodes: []slurmsite.Node{node}, Settings: settings}
	for _, host := range c.Add {
		other, err := nodeOver(ctx, host)
		if err != nil {
			return err
		}
		site.Nodes = append(site.Nodes, other)
	}
	site.Set = slices.Sorted(maps.Keys(origins))
	site.Users = knownUsers(ctx, &s)
	site.Members = membersOf(ctx, settings.QuotaGroups(), site.EveryUser())
	files, notes, err := site.Files()
	if err != nil {
		return engines.Refuse(api.CodeUsage, "see 'gpusched export slurm --help'", "%v", err)
	}
	if err := writeFiles(&s, c.Dir, files); err != nil {
		return err
	}
	for _, text := range notes {
		s.Note("%s", text)
	}
	return nil
}

// writeFiles writes the files into dir. If dir is empty, it prints them.
func writeFiles(s *engines.Shell, dir string, files []slurmsite.File) error {
	if dir == "" {
		for _, f := range files {
			s.Printf("#### %s\n%s\n", f.Name, f.Text)
		}
		return nil
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if _, err := os.Lstat(path); err == nil {
			return engines.Refuse(api.CodeUsage, "move it away, or name another directory", "%q already exists", path)
		}
	}
	for _, f := range files {
		mode := os.FileMode(0o644)
		if strings.HasSuffix(f.Name, ".sh") {
			mode = 0o755
		}
		path := filepath.Join(dir, f.Name)
		out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return engines.Refuse(api.CodeUsage, "name an existing directory of your own", "%v", err)
		}
		_, err = out.WriteString(f.Text)
		if err := errors.Join(err, out.Close()); err != nil {
			return err
		}
		s.Printf("%s\n", term.Clean(path))
	}
	return nil
}

func printNode(s *engines.Shell, n slurmsite.Node) error {
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	s.Printf("%s\n", text)
	return nil
}

// thisNode returns this machine with the GPUs that its scheduler manages.
func thisNode(ctx context.Context, s *engines.Shell, settings *config.Config) (slurmsite.Node, error) {
	host, err := os.Hostname()
	if err != nil {
		return slurmsite.Node{}, err
	}
	root := os.DirFS(cmp.Or(s.Root, "/"))
	short, _, _ := strings.Cut(host, ".")
	node, err := slurmsite.Host(root, short)
	if err != nil {
		return node, err
	}
	reply, err := api.GPUs(ctx, s.Here)
	if err != nil {
		return node, err
	}
	node.GPUs = slurmGPUs(root, reply, settings.GPUs)
	return node, nil
}

// slurmGPUs returns the GPUs that the settings include, ordered by minor number. Slices are left out:
// Slurm finds them itself (AutoDetect=nvml).
func slurmGPUs(root fs.FS, reply api.GPUsReply, settings config.GPUs) (list []slurmsite.GPU) {
	known := slices.DeleteFunc(slices.Clone(reply.GPUs), func(g api.GPU) bool {
		return g.Name == "" || g.Slice != nil || len(settings.Only) > 0 && !slices.Contains(settings.Only, g.Index)
	})
	slices.SortFunc(known, func(x, y api.GPU) int { return x.Minor - y.Minor })
	for _, g := range known {
		of := slurmsite.GPU{Minor: g.Minor, Model: g.Name, MemMiB: int64(g.MemTotalBytes >> 20)}
		of.Near = slurmsite.Near(root, g.CPUs)
		partsOn := len(settings.PartsOn) == 0 || slices.Contains(settings.PartsOn, g.Index)
		of.Parts = settings.SmallestPart < job.WholeGPU && partsOn
		for _, other := range known {
			of.Links = append(of.Links, lanes(reply.Links, g.Index, other.Index))
		}
		list = append(list, of)
	}
	return list
}

// lanes returns the number of NVLinks between two GPUs, or -1 if both are the same GPU.
func lanes(links []job.GPULink, x, y int) int {
	if x == y {
		return -1
	}
	for _, l := range links {
		if l.A == min(x, y) && l.B == max(x, y) {
			return l.Lanes
		}
	}
	return 0
}

// nodeLimit is the time limit for the answer of another machine.
const nodeLimit = 30 * time.Second

// askNode is the command that runs on other machines.
// It does not depend on the engine in their settings.
const askNode = "--on local export slurm --node"

// nodeOver asks another machine with the user's ssh. ssh does not prompt for a password.
func nodeOver(ctx context.Context, host string) (n slurmsite.Node, err error) {
	if err := remote.Check(host); err != nil || host == remote.Here {
		return n, engines.Refuse(api.CodeUsage, "", "--add: %v", cmp.Or(err, errors.New("this machine is a node already")))
	}
	ctx, cancel := context.WithTimeout(ctx, nodeLimit)
	defer cancel()
	cmd, err := remote.Command(host, false, strings.Fields(askNode)...)
	if err != nil {
		return n, err
	}
	out := nodeText{}
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	err = remote.Run(ctx, cmd)
	if err = cmp.Or(out.err, err); err != nil {
		return n, engines.Refuse(api.CodeUnavailable, "try 'ssh "+host+" gpusched "+askNode+"'; gpusched has to be installed and running there",
			"%s did not say what hardware it has: %v", host, err)
	}
	if err := json.Unmarshal(out.text, &n); err != nil {
		return n, engines.Refuse(api.CodeUnavailable, "try 'ssh "+host+" gpusched "+askNode+"'", "the answer of %s is not the expected JSON: %v", host, err)
	}
	return n, nil
}

// nodeText collects another machine's answer, up to 1 MiB. An answer usually takes a few kB.
type nodeText struct {
	text []byte
	err  error
}

func (t *nodeText) Write(p []byte) (int, error) {
	if t.text = append(t.text, p...); len(t.text) > 1<<20 {
		t.err = errors.New("its answer is longer than 1 MiB")
		return 0, t.err
	}
	return len(p), nil
}

// knownUsers returns the users who have jobs in the scheduler's history.
func knownUsers(ctx context.Context, s *engines.Shell) []string {
	reply, err := api.Report(ctx, s.Here, api.ReportQuery{By: "user"})
	if err != nil {
		s.Note("the users of this machine are not known (%v): accounts.sh has only those with a quota of their own", err)
	}
	return job.Each(reply.Rows, func(r api.ReportRow) string { return r.Keys[0] })
}

// membersOf returns, for each group, the given users who are its members. It leaves out members for
// whom the name service does not answer in time.
func membersOf(ctx context.Context, groups, users []string) map[string][]string {
	ctx, cancel := context.WithTimeout(ctx, nodeLimit)
	defer cancel()
	ask := func(kind directory.Kind, name string) directory.Answer {
		return getent.Resolver{Program: getent.Program}.Answer(ctx, directory.Query{Kind: kind, Key: name})
	}
	names, members := map[int]string{}, map[string][]string{}
	for _, name := range groups {
		if answer := ask(directory.GroupByName, name); answer.Found {
			names[answer.ID] = name
		}
	}
	if len(names) == 0 {
		return nil
	}
	for _, user := range users {
		account := ask(directory.UserByName, user)
		if !account.Found {
			continue
		}
		for _, gid := range ask(directory.GroupsOf, strconv.Itoa(account.ID)).Groups {
			if name, ok := names[gid]; ok {
				members[name] = append(members[name], user)
			}
		}
	}
	return members
}
