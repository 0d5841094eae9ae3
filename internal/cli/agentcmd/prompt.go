package agentcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm"
)

// maxPrompt is the longest prompt in bytes, that of a request.
const maxPrompt = 32 << 20

// readPrompt returns the user's prompt: the arguments, followed by standard input if an argument is "-", or if
// there are no arguments and standard input is no terminal. Otherwise it does not read standard input, which may
// never end.
func readPrompt(ctx context.Context, s command.Streams, args []string, optional bool) (string, error) {
	var words []string
	piped := len(args) == 0 && !optional && !command.IsTerminal(s.In)
	for _, a := range args {
		if a == "-" {
			piped = true
		} else {
			words = append(words, a)
		}
	}
	text := strings.TrimSpace(strings.Join(words, " "))
	if piped {
		more, err := standardInput(ctx, s.In)
		if err != nil {
			return "", err
		}
		text = strings.TrimSpace(text + "\n\n" + more)
	}
	if text == "" && !optional {
		return "", errors.New("no prompt; give one as an argument or on standard input")
	}
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

func (c *runCmd) prompt(ctx context.Context, args []string) (text string, images []llm.Image, err error) {
	text, err = readPrompt(ctx, c.Streams, args, c.continued != "")
	if err != nil {
		return "", nil, err
	}
	for _, path := range c.attached {
		file, image, err := tui.Attach(path)
		if image != nil {
			images = append(images, *image)
			err = llm.CheckImages(images)
		}
		if err != nil {
			return "", nil, fmt.Errorf("--file: %w", err)
		}
		text += file
	}
	if text == "" && len(images) > 0 {
		return "", nil, errors.New("--file: an image needs a prompt")
	}
	return strings.TrimPrefix(text, "\n\n"), images, nil
}

func standardInput(ctx context.Context, in io.Reader) (string, error) {
	var text []byte
	var err error
	read := make(chan struct{})
	go func() { // it may outlive the call, until the process ends
		defer close(read)
		text, err = io.ReadAll(io.LimitReader(in, maxPrompt+1))
	}()
	select {
	case <-read:
	case <-ctx.Done():
		return "", command.Failed(context.Cause(ctx))
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrClosed):
		return "", command.Failed(fmt.Errorf("read standard input: %w", err))
	case len(text) > maxPrompt:
		return "", command.Failed(fmt.Errorf("standard input is longer than %d MiB", maxPrompt>>20))
	}
	return string(text), nil
}
