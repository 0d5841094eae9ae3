package program

import (
	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/execcmd"
	"github.com/ridethrough/ridethrough/internal/cli/gatewaycmd"
	"github.com/ridethrough/ridethrough/internal/cli/labcmd"
	"github.com/ridethrough/ridethrough/internal/cli/servicecmd"
	"github.com/ridethrough/ridethrough/internal/cli/setupcmd"
	"github.com/ridethrough/ridethrough/internal/cli/statuscmd"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// What every program says of itself. About follows its name.
const (
	Short = "Keep programs that call language models running through provider outages"
	About = "stands between a program and its language model provider. When the provider is\n" +
		"overloaded, rate-limiting, restarting or unreachable, the call waits, visibly, and continues\n" +
		"when the provider is back."
)

// Gateway is the program that is a gateway alone: it has no agent, no model and no store.
func Gateway() Program {
	return Program{
		Name: "ridethrough-gateway", Short: Short,
		Long: "ridethrough-gateway " + About + "\n\n" +
			"It is ridethrough without agents: the same commands, configuration and texts, and half the size.",
		Features: Features(),
		Commands: func(s command.Streams) []*cobra.Command {
			return GatewayCommands(s, gatewaycmd.Directory(s), func(c config.Config) config.Config { return c }, nil)
		},
	}
}

// Features returns what every program can do.
func Features() []string { return []string{"gateway", "page", "exec", "lab"} }

// GatewayCommands returns the commands about the gateway, which every program has. extension adds to `serve`, environment to
// a configuration what variables say, and checks, which may be nil, to `doctor`.
func GatewayCommands(s command.Streams, extension gatewaycmd.Extension, environment func(config.Config) config.Config, checks gatewaycmd.Checks) []*cobra.Command {
	return []*cobra.Command{
		gatewaycmd.Serve(s, extension), execcmd.Exec(s), statuscmd.Status(s), statuscmd.Waits(s), servicecmd.Service(s), setupcmd.Setup(s),
		gatewaycmd.Config(s, environment), gatewaycmd.Explain(s), gatewaycmd.Demo(s),
		gatewaycmd.Policy(s), gatewaycmd.Doctor(s, checks), gatewaycmd.Token(s), gatewaycmd.Notify(s), gatewaycmd.Conform(s), labcmd.Lab(s), labcmd.Simulator(s),
	}
}
