package gatewaycmd

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

func Config(s command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check, show and describe the configuration",
		Long: "config is about the file that `ridethrough serve` reads: $XDG_CONFIG_HOME/ridethrough/config.yaml\n" +
			"or ~/.config/ridethrough/config.yaml, or the one that --config or RIDETHROUGH_CONFIG names. Nobody\n" +
			"has to have one.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(configCheck(s), configShow(s), configInit(s), configSchema(s))
	return cmd
}

func configCheck(s command.Streams) *cobra.Command {
	from := configflags.Flags{Streams: s}
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Say what is wrong in the configuration, with the lines",
		Long: "check reads the configuration as `ridethrough serve` would and says all that is wrong with it,\n" +
			"also whether each key is where the file says that it is. It exits with 78 if anything is, and only\n" +
			"warns of what is allowed and probably not meant.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if err := cmd.Flags().Set("config", args[0]); err != nil {
					return err
				}
			}
			t, err := from.Resolve()
			if err != nil {
				return configflags.Explain(err)
			}
			approve(s.Out, &t.Config)
			return nil
		},
	}
	from.AddFile(cmd)
	return cmd
}

// approve says that a configuration is right, and what is odd about it.
func approve(w io.Writer, c *config.Config) {
	for _, doubt := range c.Warnings() {
		doubt.Message = "warning: " + doubt.Message
		fmt.Fprintln(w, doubt.Excerpt())
	}
	file := cmp.Or(c.File, "no file: everything")
	fmt.Fprintf(w, "%s is right; policy %s, upstreams %s\n", file, c.Policy(), strings.Join(c.Upstreams(), ", "))
}

func configShow(s command.Streams) *cobra.Command {
	from := configflags.Flags{Streams: s}
	var origin bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the configuration as it is in force",
		Long: "show writes the configuration that `ridethrough serve` would use, defaults included, as a file that\n" +
			"means the same. With --origin each value has a comment that says where it comes from. Keys are not\n" +
			"shown, only where they are. It takes the flags of `ridethrough serve`.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := from.Read()
			if err != nil {
				return configflags.Explain(err)
			}
			_, err = io.WriteString(s.Out, c.Show(origin))
			return command.Failed(err)
		},
	}
	from.AddAll(cmd)
	cmd.Flags().BoolVar(&origin, "origin", false, "say where each value comes from")
	return cmd
}

func configSchema(s command.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the file, for editors",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := s.Out.Write(config.Schema())
			return command.Failed(err)
		},
	}
}

func configInit(s command.Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "init",
		Short:   "Print a file to begin with",
		Example: "  mkdir -p ~/.config/ridethrough\n  ridethrough config init > ~/.config/ridethrough/config.yaml",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(s.Out, config.Starter())
			return command.Failed(err)
		},
	}
}
