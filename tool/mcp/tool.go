package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/tool"
)

// tool makes a tool of a server's tool, under a unique name.
func (m *Client) tool(t *sdk.Tool, taken map[string]bool) tool.Tool {
	made := tool.Tool{
		Tool:       llm.Tool{Name: uniqueName(m.server.Name, t.Name, taken), Description: t.Description},
		Writes:     t.Annotations == nil || !t.Annotations.ReadOnlyHint,
		Idempotent: t.Annotations != nil && t.Annotations.IdempotentHint,
		Timeout:    m.server.Timeout,
	}
	repeatable := made.Repeatable()
	made.Func = func(ctx context.Context, arguments json.RawMessage) (string, error) {
		return m.call(ctx, t.Name, arguments, repeatable)
	}
	if schema, err := json.Marshal(t.InputSchema); err == nil && string(schema) != "null" {
		made.Schema = schema
	}
	return made
}

// call runs a tool on the server, which validates the arguments.
func (m *Client) call(ctx context.Context, name string, arguments json.RawMessage, repeatable bool) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.ctx, func() { cancel(errClosed) })()
	result, err := withRetries(ctx, m, func(ctx context.Context) (*sdk.CallToolResult, error) {
		l, err := m.liveSession(ctx)
		if err != nil {
			return nil, err
		}
		result, err := l.call(ctx, &sdk.CallToolParams{Name: name, Arguments: arguments})
		if lost, ok := errors.AsType[*lostError](err); ok && lost.sent && !repeatable {
			return nil, fmt.Errorf("%v; whether the call has taken effect is not known, so look before you try again", lost)
		}
		return result, err
	})
	if err != nil {
		return "", err
	}
	output := resultText(result)
	switch {
	case result.NeedsInput():
		return output, errors.New("the server asks its user for input, which is not supported")
	case result.IsError && output == "":
		return "", errors.New("the tool failed without a message")
	case result.IsError:
		return "", errors.New(output)
	}
	return output, nil
}

// resultText returns a result as text.
func resultText(r *sdk.CallToolResult) string {
	var all []string
	text := false
	for _, c := range r.Content {
		_, plain := c.(*sdk.TextContent)
		text = text || plain
		all = append(all, contentText(c))
	}
	if !text && r.StructuredContent != nil { // a text repeats it
		if structure, err := json.Marshal(r.StructuredContent); err == nil {
			all = append(all, string(structure))
		}
	}
	return strings.Join(all, "\n")
}

// contentText returns a piece of a result as text, or a note on what it is.
func contentText(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return fmt.Sprintf("[image, %s, %d bytes: not shown]", c.MIMEType, len(c.Data))
	case *sdk.AudioContent:
		return fmt.Sprintf("[audio, %s, %d bytes: not shown]", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("[resource %s: %s]", c.Name, c.URI)
	case *sdk.EmbeddedResource:
		if c.Resource.Text != "" || len(c.Resource.Blob) == 0 {
			return c.Resource.Text
		}
		return fmt.Sprintf("[resource %s, %s, %d bytes: not shown]", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
	}
	return fmt.Sprintf("[%T: not shown]", c)
}

// maxNameLen is how long a tool's name may be, for every provider.
const maxNameLen = 64

// uniqueName returns the name under which a model sees a server's tool. One that is too long, or not unique
// once made legal, ends with a hash.
func uniqueName(server, name string, taken map[string]bool) string {
	if server != "" {
		name = "mcp__" + server + "__" + name
	}
	bent := strings.Map(legalRune, name)
	shown := bent
	for n := 0; len(shown) > maxNameLen || taken[shown]; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", name, n))
		mark := "_" + hex.EncodeToString(sum[:4])
		shown = bent[:min(len(bent), maxNameLen-len(mark))] + mark
	}
	taken[shown] = true
	return shown
}

// legalRune returns the character, or its replacement.
func legalRune(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
		return r
	}
	return '_'
}
