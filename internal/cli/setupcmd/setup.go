// Package setupcmd has the command `setup`: it writes the gateway's address into a program's own configuration for
// good, and takes it back.
package setupcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/atomicfile"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/configflags"
	"github.com/ridethrough/ridethrough/internal/cli/recipe"
	"github.com/ridethrough/ridethrough/internal/cli/running"
	"github.com/ridethrough/ridethrough/internal/cli/settingsfile"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// Setup returns the command `setup`.
func Setup(s command.Streams) *cobra.Command {
	c := &setupCmd{Flags: configflags.Flags{Streams: s}}
	cmd := &cobra.Command{
		Use:   "setup PROGRAM",
		Short: "Let a coding agent use the gateway for good",
		Long: "setup prints what " + command.List(recipe.Programs()) + " need in their configuration to use the gateway.\n" +
			"With --write it sets that, and nothing else: comments, order, keys and logins stay. --undo takes back what\n" +
			"--write did. For one run only there is `ridethrough exec`, which writes nothing.",
		Example: "  ridethrough setup claude\n" +
			"  ridethrough setup claude --write\n" +
			"  ridethrough setup claude --undo",
		Args:      cobra.ExactArgs(1),
		ValidArgs: recipe.Programs(),
		RunE:      func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.AddFile(cmd)
	cmd.Flags().BoolVar(&c.write, "write", false, "write it into the program's configuration")
	cmd.Flags().BoolVar(&c.undo, "undo", false, "take back what --write did")
	cmd.MarkFlagsMutuallyExclusive("write", "undo")
	return cmd
}

// setupCmd is a call of `setup`.
type setupCmd struct {
	configflags.Flags
	write, undo bool
}

func (c *setupCmd) run(cmd *cobra.Command, program string) error {
	if c.undo {
		return c.takeBack(program)
	}
	conf, err := c.Read()
	if err != nil {
		return configflags.Explain(err)
	}
	l, err := recipe.Lastingly(program, conf.URL(), c.Streams.Env)
	switch {
	case err != nil:
		return err
	case l.Need.Name != "" && !slices.Contains(conf.Upstreams(), l.Need.Name):
		return command.WithCode(fmt.Errorf("the login of a %s account needs an upstream in the configuration: "+
			"upstreams: {%s: {api: %s, url: %s}}", l.Need.Account, l.Need.Name, config.LoginAPI(l.Need.Name), l.Need.URL), command.ExitConfig)
	case l.File == "" && c.write:
		return command.Failed(fmt.Errorf("%s sets this itself: %s", program, l.Command))
	case l.File == "":
		c.say("%s\n\n%s", l.Command, l.Also)
		return nil
	}
	before, existed, err := read(l.File)
	if err != nil {
		return command.Failed(err)
	}
	after, changes, err := l.Format.Apply(before, l.Settings)
	if err != nil {
		return command.Failed(fmt.Errorf("%s: %w; change it by hand: %s", l.File, err, byHand(l)))
	}
	c.show(l, changes)
	switch {
	case len(changes) == 0:
		c.say("%s uses the gateway already.", program)
	case c.write:
		if err := c.apply(program, l, record{File: l.File, Format: l.Format, Existed: existed, Before: before, After: after, Changes: changes}); err != nil {
			return command.Failed(err)
		}
		own := cmd.Root().Name()
		c.say("\nWritten. `%s setup %s --undo` takes it back.", own, program)
		if g := (running.Gateway{URL: conf.URL(), Token: c.Streams.Env("RIDETHROUGH_TOKEN")}); !g.Answers(cmd.Context()) {
			c.say("No gateway answers there, and %s needs one from now on: `%s serve`, or for good `%[2]s service install`", program, own)
		}
	default:
		c.say("\nNothing was written. With --write it is; for one run: %s exec -- %s", cmd.Root().Name(), program)
	}
	c.tellMore(l, changes)
	return nil
}

// byHand says which settings to change.
func byHand(l recipe.Lasting) string {
	var all []string
	for _, s := range l.Settings {
		all = append(all, strings.Join(s.Path, ".")+" = "+s.Value)
	}
	return strings.Join(all, ", ")
}

// show writes the settings that change, as a difference.
func (c *setupCmd) show(l recipe.Lasting, changes []settingsfile.Change) {
	if len(changes) == 0 {
		return
	}
	c.say("%s", l.File)
	for _, one := range changes {
		if one.Had {
			c.say("- %s: %s", one.Name(), l.Format.Value(one.Old))
		}
		c.say("+ %s: %s", one.Name(), l.Format.Value(one.New))
	}
}

// tellMore says what the user has to do besides.
func (c *setupCmd) tellMore(l recipe.Lasting, changes []settingsfile.Change) {
	for _, one := range changes {
		if old := l.Format.Value(one.Old); one.Had && old != "" {
			c.say("Requests went to %s. To keep that, the gateway needs it: upstreams: {%s: {url: '%s'}}", old, l.Upstream[one.Name()], old)
		}
	}
	if l.Also != "" {
		c.say("%s", l.Also)
	}
}

// takeBack undoes the last --write of a program.
func (c *setupCmd) takeBack(program string) error {
	if !slices.Contains(recipe.Programs(), program) {
		_, err := recipe.Lastingly(program, "", func(string) string { return "/" })
		return err
	}
	r, err := c.recorded(program)
	if err != nil {
		return command.Failed(err)
	}
	if r.File == "" {
		c.say("nothing to undo: --write has not changed the configuration of %s", program)
		return nil
	}
	now, exists, err := read(r.File)
	if err != nil {
		return command.Failed(err)
	}
	var kept []settingsfile.Change
	switch {
	case !exists:
	case now == r.After && !r.Existed:
		if err = os.Remove(r.File); err == nil && r.MadeDir {
			_ = os.Remove(filepath.Dir(r.File)) // unless something else is in it by now
		}
	case now == r.After:
		err = atomicfile.Write(r.File, []byte(r.Before))
	default: // it was changed since
		var text string
		if text, kept, err = r.Format.Revert(now, r.Changes); err == nil {
			err = atomicfile.Write(r.File, []byte(text))
		}
	}
	if err != nil {
		return command.Failed(err)
	}
	for _, one := range kept {
		c.say("%s has been changed since, and stays", one.Name())
	}
	c.say("undone in %s", r.File)
	return command.Failed(c.forget(program))
}

// read returns the text of a file, and whether there is one.
func read(path string) (text string, exists bool, err error) {
	file, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return string(file), err == nil, err
}

func (c *setupCmd) say(format string, args ...any) {
	fmt.Fprintf(command.Text(c.Streams.Out), format+"\n", args...)
}
