package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

const (
	postTime   = 30 * time.Second // for all of it
	maxHeader  = 64 << 10
	maxAnswer  = 4 << 10 // of what a server says besides its status, which nobody looks at
	maxConnect = 10 * time.Second
)

// post sends the message to a URL. A redirection counts as an answer that is none: what
// it leads to nobody has chosen.
func post(ctx context.Context, m *contract.Message) error {
	u, err := url.Parse(m.To)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return refused("its URL is not one of http or https")
	}
	ctx, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(m.Body))
	if err != nil {
		return refused("its URL can't be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "gpusched/"+version)
	req.Header.Set("Idempotency-Key", m.ID)
	client := &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: maxHeader,
			TLSHandshakeTimeout: maxConnect, DisableKeepAlives: true, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", u.Hostname(), bare(err))
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		return refused("%s redirects (%d), which is not followed", u.Hostname(), code)
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return fmt.Errorf("%s answered %d %s", u.Hostname(), code, http.StatusText(code))
	default:
		return refused("%s answered %d %s", u.Hostname(), code, http.StatusText(code))
	}
}

// bare is an error of the client without the URL, in which there may be a secret.
func bare(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
