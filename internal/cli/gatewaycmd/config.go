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

// Config returns the command `config`. agents returns a configuration as agents use it: with the variables of the
// providers' own tools applied.
func Config(s command.Streams, agents func(config.Config) config.Config) *cobra.Command {
	return group("config", "Check, show and describe the configuration",
		"config is about the file that `ridethrough serve`, run, chat and council read: the one that --config or\n"+
			"RIDETHROUGH_CONFIG names, or else $XDG_CONFIG_HOME/ridethrough/config.yaml or\n"+
			"~/.config/ridethrough/config.yaml. The file is optional.",
		configCheck(s), configShow(s, agents),
		printing(s, "init", "Print a commented configuration file to start from",
			"  mkdir -p ~/.config/ridethrough\n  ridethrough config init > ~/.config/ridethrough/config.yaml", config.Starter),
		printing(s, "schema", "Print the JSON Schema of the file for editors",
			"  ridethrough config schema >config.schema.json", func() string { return string(config.Schema()) }))
}

func group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

func configCheck(s command.Streams) *cobra.Command {
	from := configflags.Flags{Streams: s}
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check the configuration for mistakes",
		Long: "check reads the configuration as `ridethrough serve` would and reports every mistake with its line,\n" +
			"including keys and files that do not exist. It exits with 78 if there is one. Valid settings that are\n" +
			"probably not intended are only warnings.",
		Example: "  ridethrough config check\n  ridethrough config check new.yaml",
		Args:    cobra.MaximumNArgs(1),
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
			c, w := &t.Config, command.Text(s.Out)
			for _, doubt := range c.Warnings() {
				doubt.Message = "warning: " + doubt.Message
				fmt.Fprintln(w, doubt.Excerpt())
			}
			file := cmp.Or(c.File, "the default configuration")
			fmt.Fprintf(w, "%s is valid; policy %s, upstreams %s\n", file, c.Policy(), strings.Join(c.Upstreams(), ", "))
			return nil
		},
	}
	from.AddFile(cmd)
	return cmd
}

func configShow(s command.Streams, agents func(config.Config) config.Config) *cobra.Command {
	from := configflags.Flags{Streams: s}
	var origin bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the effective configuration",
		Long: "show prints the configuration that `ridethrough serve` would use, defaults included, as an equivalent\n" +
			"file. With --origin, each value has a comment with its source, and comments below it say what conversations\n" +
			"and council, and what run and what chat use in place of it. Keys are never shown, only where they are\n" +
			"stored. It takes the flags of `ridethrough serve`.",
		Example: "  ridethrough config show --origin",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := from.Read()
			if err != nil {
				return configflags.Explain(err)
			}
			shown := c.Show(origin)
			if origin {
				run, err := from.ForUser("interactive", "run")
				if err != nil {
					return configflags.Explain(err)
				}
				chat, err := from.ForUser("attended", "chat")
				if err != nil {
					return configflags.Explain(err)
				}
				shown += agentsUse(&c, agents(c), agents(run), agents(chat))
			}
			_, err = io.WriteString(command.Text(s.Out), shown)
			return command.Failed(err)
		},
	}
	from.AddAll(cmd)
	cmd.Flags().BoolVar(&origin, "origin", false, "add the source of each value")
	return cmd
}

// agentsUse returns, as comments, the settings that agents use instead of the gateway's: those without a waiting
// user, and those with one.
func agentsUse(gateway *config.Config, served, run, chat config.Config) string {
	text := ""
	for _, a := range []struct{ who, uses string }{
		{"conversations and council use", served.ShowChanges(gateway)},
		{"run uses", run.ShowChanges(gateway)},
		{"chat uses", chat.ShowChanges(gateway)},
	} {
		if a.uses != "" {
			text += "\n# In place of that, " + a.who + ":\n" + a.uses
		}
	}
	return text
}

func printing(s command.Streams, use, short, example string, text func() string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: example, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(s.Out, text())
			return command.Failed(err)
		},
	}
}
