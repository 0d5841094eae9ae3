package servicecmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/internal/atomicfile"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/operation/service"
)

func install(c *serviceCmd) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install and start the service",
		Long: "install writes the file of the service manager and starts the service. Installed already, it is updated, and\n" +
			"restarted if something has changed. A file that was changed by hand stays, unless you say --force.\n\n" +
			"The service reads the configuration, not the variables of this shell. Its keys can be in the file\n" +
			"ridethrough/environment beside the configuration (systemd).",
		Example: "  ridethrough service install\n" +
			"  ridethrough service install --print\n" +
			"  sudo ridethrough service install --system",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.install(cmd.Context()) },
	}
	c.addChanging(cmd)
	c.AddFile(cmd)
	return cmd
}

// install installs the service.
func (c *serviceCmd) install(ctx context.Context) error {
	config, err := c.configFile()
	if err != nil {
		return err
	}
	args := []string{"serve"}
	if config != "" {
		args = append(args, "--config", config)
	}
	p, err := c.plan(args)
	if err != nil {
		return err
	}
	g, err := c.gateway(&p, config)
	if err != nil {
		return err
	}
	old, there, err := c.replaceable(&p)
	if err != nil {
		return command.Failed(err)
	}
	facts, _ := service.Read(old)
	facts.Config = config
	if !there {
		facts.Made = missing(filepath.Dir(p.path))
	}
	text := p.text(facts)
	steps := p.starts
	if there && text != old {
		steps = p.renews
	}
	if c.print {
		return show(command.Text(c.Streams.Out), "write", &p, text, nil, steps)
	}
	if text != old {
		if err := write(p.path, p.encode(text)); err != nil {
			return command.Failed(withoutRights(err))
		}
	}
	return c.start(ctx, &p, g.URL, steps)
}

// replaceable returns the file that the service has by now, and whether it has one. One of another hand is an error,
// unless the user says --force.
func (c *serviceCmd) replaceable(p *plan) (old string, there bool, err error) {
	old, there, err = read(p.path)
	_, unchanged := service.Read(old)
	switch {
	case err != nil || c.force:
	case !there && exists(p.packed):
		err = fmt.Errorf("a package has installed %s; start it with: systemctl enable --now %s", p.packed, service.Name)
	case there && !unchanged:
		err = fmt.Errorf("%s was changed by hand, or is not from here; --force replaces it", p.path)
	}
	return old, there, err
}

// start starts the service, and says what there is to know about it.
func (c *serviceCmd) start(ctx context.Context, p *plan, url string, steps []step) error {
	if !p.runs {
		c.say("wrote %s\nNo systemd runs here. Where it does, start the service with:", p.path)
		for _, s := range steps {
			c.say("  %s", s)
		}
		return nil
	}
	if err := c.do(ctx, steps); err != nil {
		return err
	}
	c.say("installed %s\nThe gateway is at %s. Its log: %s", p.path, url, p.logs)
	if p.hint != "" {
		c.say("%s", p.hint)
	}
	c.warnOfVariables()
	return nil
}

// warnOfVariables says which settings of this shell the service does not have.
func (c *serviceCmd) warnOfVariables() {
	var set []string
	for _, name := range []string{"RIDETHROUGH_LISTEN", "RIDETHROUGH_POLICY", "RIDETHROUGH_TOKEN", "RIDETHROUGH_DATA", "RIDETHROUGH_NATS"} {
		if c.Streams.Env(name) != "" {
			set = append(set, name)
		}
	}
	if len(set) > 0 {
		fmt.Fprintf(c.Streams.Err, "warning: %s of this shell is not set for the service; put it into the configuration\n", command.List(set))
	}
}

// configFile returns the absolute path of the configuration that the user names; "": none.
func (c *serviceCmd) configFile() (string, error) {
	path, named := c.File()
	if !named {
		return "", nil
	}
	path, err := filepath.Abs(path)
	return path, command.Failed(err)
}

func uninstall(c *serviceCmd) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop and remove the service",
		Long: "uninstall stops the service and removes what install has written. The configuration, the logs and the data\n" +
			"stay.",
		Example: "  ridethrough service uninstall\n  ridethrough service uninstall --print",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.uninstall(cmd.Context()) },
	}
	c.addChanging(cmd)
	return cmd
}

// uninstall removes the service.
func (c *serviceCmd) uninstall(ctx context.Context) error {
	p, err := c.plan(nil)
	if err != nil {
		return err
	}
	text, there, err := read(p.path)
	switch facts, unchanged := service.Read(text); {
	case err != nil:
		return command.Failed(err)
	case !there:
		c.say("not installed: there is no %s", p.path)
		return nil
	case !unchanged && !c.force:
		return command.Failed(fmt.Errorf("%s was changed by hand, or is not from here; --force removes it", p.path))
	case c.print:
		return show(command.Text(c.Streams.Out), "remove", &p, "", p.stops, p.forgets)
	default:
		return c.remove(ctx, &p, facts)
	}
}

// remove stops the service and removes its file, with the directories that were made for it and are empty.
func (c *serviceCmd) remove(ctx context.Context, p *plan, facts service.Facts) error {
	if p.runs {
		if err := c.do(ctx, p.stops); err != nil && !c.force {
			return err
		}
	}
	if err := os.Remove(p.path); err != nil {
		return command.Failed(withoutRights(err))
	}
	dir := p.path
	for range facts.Made {
		if dir = filepath.Dir(dir); os.Remove(dir) != nil {
			break // something else is in it
		}
	}
	if p.runs {
		if err := c.do(ctx, p.forgets); err != nil {
			return err
		}
	}
	c.say("removed %s", p.path)
	return nil
}

// read returns the text of a file, and whether there is one.
func read(path string) (text string, there bool, err error) {
	file, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return service.Text(file), err == nil, err
}

// missing returns how many directories of a path do not exist.
func missing(dir string) (n int) {
	for !exists(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		n++
	}
	return n
}

// write writes a file that a service manager reads.
func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := atomicfile.Write(path, content); err != nil {
		return err
	}
	return os.Chmod(path, 0o644)
}

// withoutRights adds to an error that the user may not write there.
func withoutRights(err error) error {
	if errors.Is(err, fs.ErrPermission) && strings.Contains(err.Error(), "/etc/") {
		return fmt.Errorf("%w; the service of the machine is changed by root: sudo", err)
	}
	return err
}
