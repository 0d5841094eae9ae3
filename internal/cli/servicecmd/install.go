package servicecmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/text"
)

func (c *serviceCmd) install(ctx context.Context) error {
	config, named := c.File()
	if !named {
		config = ""
	} else if at, err := filepath.Abs(config); err == nil {
		config = at
	}
	p, err := c.plan(config)
	if err != nil {
		return err
	}
	g, err := c.gateway(&p, config)
	if err != nil {
		return err
	}
	old, err := read(p.path)
	switch {
	case err != nil:
		return command.Failed(err)
	case c.force:
	case !old.there && exists(p.packed):
		return command.Failed(fmt.Errorf("a package has installed %s; start it with: systemctl enable --now %s", p.packed, name))
	case old.there && !old.unchanged:
		return command.Failed(fmt.Errorf("%s was changed by hand, or is not from here; --force replaces it", p.path))
	}
	text, steps := sealed(p.text, config), p.starts
	if old.there && text != old.text {
		steps = p.renews
	}
	if c.print {
		c.show("write", &p, text, nil, steps)
		return nil
	}
	if text != old.text {
		if err := write(&p, text); err != nil {
			return command.Failed(withoutRights(err))
		}
	}
	return c.start(ctx, &p, g.URL, steps)
}

// start starts the service, and prints what the user should know about it.
func (c *serviceCmd) start(ctx context.Context, p *plan, url string, steps []step) error {
	if !p.runs {
		c.say("wrote %s\nNo systemd runs here. Where it does, start the service with:", p.path)
		for _, s := range steps {
			c.say("  %s", p.shell(s))
		}
		return nil
	}
	if err := c.do(ctx, p, steps); err != nil {
		return err
	}
	c.say("installed %s\nThe gateway is at %s. Its log: %s", p.path, url, p.logs)
	if p.hint != "" {
		c.say("%s", p.hint)
	}
	var set []string
	for _, name := range []string{"RIDETHROUGH_LISTEN", "RIDETHROUGH_POLICY", "RIDETHROUGH_TOKEN", "RIDETHROUGH_DATA", "RIDETHROUGH_NATS"} {
		if c.Streams.Env(name) != "" {
			set = append(set, name)
		}
	}
	if len(set) > 0 {
		fmt.Fprintf(c.Streams.Err, "warning: %s of this shell is not set for the service; put it into the configuration\n", text.And(set))
	}
	return nil
}

func (c *serviceCmd) uninstall(ctx context.Context) error {
	p, err := c.plan("")
	if err != nil {
		return err
	}
	old, err := read(p.path)
	switch {
	case err != nil:
		return command.Failed(err)
	case !old.there:
		c.say("not installed: there is no %s", p.path)
		return nil
	case !old.unchanged && !c.force:
		return command.Failed(fmt.Errorf("%s was changed by hand, or is not from here; --force removes it", p.path))
	case c.print:
		c.show("remove", &p, "", p.stops, p.forgets)
		return nil
	case !p.runs:
		p.stops, p.forgets = nil, nil
	}
	if err := c.do(ctx, &p, p.stops); err != nil && !c.force {
		return err
	}
	if err := os.Remove(p.path); err != nil {
		return command.Failed(withoutRights(err))
	}
	for dir := filepath.Dir(p.path); os.Remove(dir) == nil; { // until something else is in it
		dir = filepath.Dir(dir)
	}
	if err := c.do(ctx, &p, p.forgets); err != nil {
		return err
	}
	c.say("removed %s", p.path)
	return nil
}

func (c *serviceCmd) do(ctx context.Context, p *plan, steps []step) error {
	for _, s := range steps {
		if out, err := c.run(ctx, p.argv(s)); err != nil && s[0] != '-' {
			return command.Failed(fmt.Errorf("%s: %w: %s", p.shell(s), err, strings.TrimSpace(out)))
		}
	}
	return nil
}

func (c *serviceCmd) show(what string, p *plan, text string, before, after []step) {
	for _, s := range before {
		c.say("# run: %s", p.shell(s))
	}
	c.say("# %s: %s", what, p.path)
	fmt.Fprint(command.Text(c.Streams.Out), strings.ReplaceAll(text, "\r\n", "\n"))
	for _, s := range after {
		c.say("# run: %s", p.shell(s))
	}
}
