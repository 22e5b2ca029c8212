package api

import (
	"context"
	"net"
	"strings"
)

// elsewhere connects with the daemon of another machine.
func (c *Client) elsewhere(ctx context.Context) (net.Conn, error) {
	conn, err := c.Dial(ctx)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Err: err}
	}
	return conn, nil
}

// Connect returns a connection with the daemon, for whoever passes on the words of another client. Its
// errors are those of the system.
func (c *Client) Connect(ctx context.Context) (net.Conn, error) { return c.transport().dial(ctx) }

// NameJobs is a sentence of the daemon of a machine, with that before the numbers of its jobs: "held by jobs 1 and 7_3"
// is "held by jobs a:1 and a:7_3". How many more there are, and what else has a number, stays.
func NameJobs(host, text string) string {
	if !strings.Contains(text, "job") {
		return text
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "job")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("job")
		text = rest
		if begins := before == "" || strings.HasSuffix(before, " ") || strings.HasSuffix(before, "("); !begins {
			continue
		}
		list, several := strings.CutPrefix(text, "s ")
		if !several {
			if list, found = strings.CutPrefix(text, " "); !found {
				continue
			}
		}
		b.WriteString(text[:len(text)-len(list)])
		text = namedList(&b, host, list, several)
	}
}

// namedList writes the numbers at the beginning of a text, one or several, and returns what is behind them.
func namedList(b *strings.Builder, host, text string, several bool) string {
	for {
		n := 0
		for n < len(text) && (text[n] >= '0' && text[n] <= '9' || n > 0 && text[n] == '_') {
			n++
		}
		if n == 0 || strings.HasPrefix(text[n:], " more") {
			return text
		}
		b.WriteString(host + ":" + text[:n])
		text = text[n:]
		if !several {
			return text
		}
		for _, between := range []string{", ", " and "} {
			if rest, ok := strings.CutPrefix(text, between); ok {
				b.WriteString(between)
				text = rest
				break
			}
		}
	}
}
