// Package statuscmd has the commands that ask a running gateway, in place of curl: status and waits.
package statuscmd

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/running"
)

// asking is what the commands have in common: where the gateway is.
type asking struct {
	configflags.Flags
	server string // of the flag
}

// exits is the part of the help about exit codes.
const exits = "\n\nThe exit code is 0 if the gateway answers, 3 if none runs, 1 if it refuses, and 2 or 78 for a mistake in the\n" +
	"flags or the configuration."

// addFlags adds the flags that say where the gateway is.
func (a *asking) addFlags(cmd *cobra.Command) {
	a.AddFile(cmd)
	cmd.Flags().StringVar(&a.server, "server", "", "`URL` of the gateway (default that of the configuration) [RIDETHROUGH_SERVER]")
}

// gateway returns the gateway that flags, the environment or the configuration name. The configuration's own token
// is sent to its own address only.
func (a *asking) gateway() (running.Gateway, error) {
	env := a.Streams.Env
	if url := cmp.Or(a.server, env("RIDETHROUGH_SERVER")); url != "" {
		return running.Gateway{URL: url, Token: env("RIDETHROUGH_TOKEN")}, nil
	}
	c, err := a.Read()
	if err != nil {
		return running.Gateway{}, configflags.Explain(err)
	}
	token, err := c.Token(env)
	if err != nil {
		return running.Gateway{}, command.WithCode(err, command.ExitConfig)
	}
	return running.Gateway{URL: c.URL(), Token: token}, nil
}

// explain returns an error of a gateway with its exit code, and says how to start one if none runs.
func explain(err error, program string) error {
	if _, ok := errors.AsType[running.Unreachable](err); ok {
		return command.WithCode(fmt.Errorf("%w; start one with `%s serve`, or for good with `%[2]s service install`", err, program), command.ExitNoGateway)
	}
	return command.Failed(err)
}
