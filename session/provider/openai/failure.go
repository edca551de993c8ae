package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/exchange"
)

// said is an error that a stream carried.
type said struct{ code, text string }

func (s *said) Error() string { return s.text }

// failure says what an error means. The SDK's own error is not wrapped: it holds the request and its headers.
func (p *Provider) failure(ctx context.Context, err error) error {
	f := &message.Failure{Provider: p.opt.Name, Kind: message.ErrUnavailable}
	var api *sdk.Error
	var in *ssestream.StreamError
	var word *said
	switch {
	case errors.Is(context.Cause(ctx), exchange.ErrSilent):
		f.Text = exchange.ErrSilent.Error()
	case errors.Is(err, exchange.ErrRedirected):
		f.Kind, f.Text = message.ErrBadRequest, exchange.ErrRedirected.Error()
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &api):
		p.refused(f, api)
	case errors.As(err, &in):
		code, text := words(in.Event.Data)
		f.Kind, f.Text = kind(0, code, text), exchange.Scrub(text, p.opt.Key)
	case errors.As(err, &word):
		f.Kind, f.Text = kind(0, word.code, word.text), exchange.Scrub(word.text, p.opt.Key)
	default:
		f.Text = exchange.Scrub(err.Error(), p.opt.Key)
	}
	return f
}

func (p *Provider) refused(f *message.Failure, api *sdk.Error) {
	code, text := api.Code, api.Message
	if text == "" {
		if code, text = words([]byte(api.RawJSON())); text == "" {
			text = api.RawJSON()
		}
	}
	if code == "" {
		code = api.Type
	}
	f.Status, f.Kind, f.Text = api.StatusCode, kind(api.StatusCode, code, text), exchange.Scrub(text, p.opt.Key)
	if api.Response != nil {
		f.RetryAfter = exchange.RetryAfter(api.Response.Header.Get("Retry-After"), time.Now())
	}
}

// words reads the forms in which servers write an error: an object, a text, or a detail.
func words(body []byte) (code, text string) {
	var b struct {
		Error   json.RawMessage `json:"error"`
		Detail  any             `json:"detail"`
		Message string          `json:"message"`
		Code    any             `json:"code"`
	}
	if json.Unmarshal(body, &b) != nil {
		return "", strings.TrimSpace(string(body))
	}
	var object struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	}
	switch {
	case json.Unmarshal(b.Error, &object) == nil && object.Message != "":
		if code, _ = object.Code.(string); code == "" {
			code = object.Type
		}
		return code, object.Message
	case json.Unmarshal(b.Error, &text) == nil && text != "":
		return "", text
	case b.Message != "":
		code, _ = b.Code.(string)
		return code, b.Message
	case b.Detail != nil:
		detail, _ := json.Marshal(b.Detail)
		return "", string(detail)
	}
	return "", strings.TrimSpace(string(body))
}

func kind(status int, code, text string) error {
	switch code {
	case "invalid_api_key", "authentication_error", "permission_error":
		return message.ErrAuth
	case "insufficient_quota", "billing_hard_limit_reached", "invalid_prompt":
		return message.ErrBadRequest
	case "context_length_exceeded", "string_above_max_length":
		return message.ErrContextLength
	case "rate_limit_exceeded", "rate_limit_error", "slow_down", "overloaded_error", "server_overloaded", "vector_store_timeout":
		return message.ErrOverload
	case "server_error", "internal_server_error":
		return message.ErrUnavailable
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return message.ErrAuth
	case status == http.StatusTooManyRequests, status == 529, status == http.StatusServiceUnavailable:
		return message.ErrOverload
	case status == http.StatusRequestEntityTooLarge, tooLong(text):
		return message.ErrContextLength
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status >= 500, status == 0:
		return message.ErrUnavailable
	}
	return message.ErrBadRequest
}

// tooLong knows how compatible servers word it, most of which have no code for it.
func tooLong(text string) bool {
	text = strings.ToLower(text)
	for _, words := range []string{
		"context length", "context window", "context size", "maximum context", "prompt is too long", "too many tokens", "input is too long",
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
