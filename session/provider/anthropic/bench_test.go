package anthropic_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/stretchr/testify/require"

	"github.com/metaharness/peri/middleware"
	"github.com/metaharness/peri/prompt"
	"github.com/metaharness/peri/prompt/message"
	"github.com/metaharness/peri/session/provider/anthropic"
	"github.com/metaharness/peri/toolview"
)

const stream = `event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

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
// the SDK that is given everything anew, as an adapter without a memory does.
func BenchmarkStep(b *testing.B) {
	var h []*message.Message
	for i := range 100 {
		h = append(h, message.Of(message.User, fmt.Sprint("question ", i, strings.Repeat(" words", 100))),
			message.Of(message.Assistant, fmt.Sprint("answer ", i, strings.Repeat(" words", 100))))
	}
	h = append(h, message.Of(message.User, "last"))
	client := &http.Client{Transport: canned{}}

	b.Run("adapter", func(b *testing.B) {
		p, err := anthropic.New(anthropic.Options{Key: "k", HTTP: client})
		require.NoError(b, err)
		m, err := p.Models("claude")
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
	sdkOptions := []option.RequestOption{
		option.WithEnvironmentProduction(), option.WithHTTPClient(client), option.WithAPIKey("k"), option.WithMaxRetries(0),
	}
	service := sdk.NewMessageService(sdkOptions...)
	params := func() sdk.MessageNewParams {
		q := sdk.MessageNewParams{Model: "claude", MaxTokens: 32000, System: []sdk.TextBlockParam{{Text: "You work.", CacheControl: sdk.NewCacheControlEphemeralParam()}}}
		for _, m := range h {
			if m.Role == message.User {
				q.Messages = append(q.Messages, sdk.NewUserMessage(sdk.NewTextBlock(m.Text())))
			} else {
				q.Messages = append(q.Messages, sdk.NewAssistantMessage(sdk.NewTextBlock(m.Text())))
			}
		}
		return q
	}
	drain := func(b *testing.B, q sdk.MessageNewParams, opts ...option.RequestOption) {
		s := service.NewStreaming(b.Context(), q, opts...)
		var whole sdk.Message
		for s.Next() {
			if err := whole.Accumulate(s.Current()); err != nil {
				b.Fatal(err)
			}
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
			drain(b, sdk.MessageNewParams{}, option.WithRequestBody("application/json", bytes.Clone(body)))
		}
	})
	b.Run("SDK", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			drain(b, params())
		}
	})
}
