package openai_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/openai"
	"github.com/metaharness/peri/toolview"
)

const stream = `event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","status":"in_progress","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"m","delta":"hello"}

event: response.completed
data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":2}}}

`

// canned answers without a network.
type canned struct{}

func (canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(stream)),
	}, nil
}

// BenchmarkStep is one more step of a long conversation: by the adapter, by the SDK with what was lowered before, and by
// the SDK that is given everything anew.
func BenchmarkStep(b *testing.B) {
	var h []*message.Message
	for i := range 100 {
		h = append(h, message.Of(message.User, fmt.Sprint("question ", i, strings.Repeat(" words", 100))),
			message.Of(message.Assistant, fmt.Sprint("answer ", i, strings.Repeat(" words", 100))))
	}
	h = append(h, message.Of(message.User, "last"))
	client := &http.Client{Transport: canned{}}
	b.Run("adapter", func(b *testing.B) {
		p, err := openai.New(openai.Options{Key: "k", HTTP: client})
		require.NoError(b, err)
		m, err := p.Models("gpt-5.6")
		require.NoError(b, err)
		r := &middleware.Request{
			View:   toolview.NewDeriver(nil, nil, nil).View(&toolview.Policy{}, nil),
			System: []prompt.Block{{Text: "You work.", EndsCache: true}}, Messages: h,
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := m(b.Context(), r, func(message.Event) {}); err != nil {
				b.Fatal(err)
			}
		}
	})
	service := responses.NewResponseService(
		option.WithEnvironmentProduction(), option.WithHTTPClient(client), option.WithAPIKey("k"), option.WithMaxRetries(0),
	)
	params := func() responses.ResponseNewParams {
		q := responses.ResponseNewParams{Model: "gpt-5.6", Store: param.NewOpt(false)}
		for _, m := range h {
			q.Input.OfInputItemList = append(q.Input.OfInputItemList,
				responses.ResponseInputItemParamOfMessage(m.Text(), responses.EasyInputMessageRole(m.Role)))
		}
		return q
	}
	drain := func(b *testing.B, q responses.ResponseNewParams, opts ...option.RequestOption) {
		s := service.NewStreaming(b.Context(), q, opts...)
		for s.Next() {
			_ = s.Current()
		}
		if s.Err() != nil {
			b.Fatal(s.Err())
		}
	}
	b.Run("SDK with the bytes", func(b *testing.B) {
		body, err := params().MarshalJSON()
		require.NoError(b, err)
		b.ReportAllocs()
		for b.Loop() {
			drain(b, responses.ResponseNewParams{}, option.WithRequestBody("application/json", bytes.Clone(body)))
		}
	})
	b.Run("SDK", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			drain(b, params())
		}
	})
}
