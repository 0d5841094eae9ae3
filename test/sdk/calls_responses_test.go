package sdk_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

var (
	responsesNew          = call{name: "Responses.New", ask: newResponse, again: true, busy: "server_error"}
	responsesNewStreaming = call{name: "Responses.NewStreaming", streams: true, ask: streamResponse, again: true, busy: "server_error"}
)

func response() responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: "gpt-5",
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Hi")},
	}
}

func newResponse(ctx context.Context, s endpoint) (answer, error) {
	client := s.openai()
	r, err := client.Responses.New(ctx, response())
	if err != nil {
		return answer{}, err
	}
	return ofResponse(*r), nil
}

var errDeltas = errors.New("the deltas are not the answer")

func streamResponse(ctx context.Context, s endpoint) (answer, error) {
	client := s.openai()
	stream := client.Responses.NewStreaming(ctx, response())
	defer stream.Close()
	var a answer
	for stream.Next() {
		switch e := stream.Current(); e.Type {
		case "response.output_text.delta":
			a.Text += e.Delta
		case "response.failed":
			return a, fmt.Errorf("%s: %s", e.Response.Error.Code, e.Response.Error.Message)
		case "response.completed":
			said := a.Text
			if a = ofResponse(e.Response); a.Text != said {
				return a, errDeltas
			}
		}
	}
	return a, stream.Err()
}

func ofResponse(r responses.Response) answer {
	return answer{
		ID: r.ID, Model: r.Model, Created: int64(r.CreatedAt), Text: r.OutputText(), Stop: string(r.Status),
		In: r.Usage.InputTokens, Out: r.Usage.OutputTokens,
	}
}
