package anthropic

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/exchange"
)

// failure says what an error of the SDK means. The SDK's own error is not wrapped: it holds the request and its headers.
func (p *Provider) failure(ctx context.Context, err error) error {
	f := &message.Failure{Provider: "anthropic", Kind: message.ErrUnavailable}
	var api *sdk.Error
	switch {
	case errors.Is(context.Cause(ctx), exchange.ErrSilent):
		f.Text = exchange.ErrSilent.Error()
	case errors.Is(err, exchange.ErrRedirected):
		f.Kind, f.Text = message.ErrBadRequest, exchange.ErrRedirected.Error()
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &api):
		p.refused(f, api)
	default:
		f.Text = exchange.Scrub(err.Error(), p.opt.Key)
	}
	return f
}

func (p *Provider) refused(f *message.Failure, api *sdk.Error) {
	f.Text = api.Message
	if f.Text == "" {
		f.Text = api.RawJSON()
	}
	f.Kind = kind(api.StatusCode, string(api.Type()), string(api.ErrorCode()), f.Text)
	f.Text = exchange.Scrub(f.Text, p.opt.Key)
	// An error inside a stream came with the status of the stream.
	if api.StatusCode >= http.StatusBadRequest {
		f.Status = api.StatusCode
	}
	if api.Response != nil {
		f.RetryAfter = exchange.RetryAfter(api.Response.Header.Get("Retry-After"), time.Now())
	}
}

func kind(status int, typ, code, text string) error {
	switch typ {
	case "authentication_error", "permission_error":
		return message.ErrAuth
	case "rate_limit_error", "overloaded_error":
		if strings.Contains(code, "spend_limit") || code == "enforced_spend_limit_reached" {
			return message.ErrBadRequest
		}
		return message.ErrOverload
	case "api_error", "timeout_error":
		return message.ErrUnavailable
	case "request_too_large":
		return message.ErrContextLength
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return message.ErrAuth
	case status == http.StatusTooManyRequests, status == 529:
		return message.ErrOverload
	case status == http.StatusRequestEntityTooLarge, tooLong(text):
		return message.ErrContextLength
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status >= 500:
		return message.ErrUnavailable
	}
	return message.ErrBadRequest
}

// tooLong knows how the API words it: there is no code for it.
func tooLong(text string) bool {
	text = strings.ToLower(text)
	for _, words := range []string{"prompt is too long", "exceed context limit", "context window", "context length"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
