package servicecmd

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/operation/service"
)

// host is the machine and the user that a service is for.
type host struct {
	goos                           string
	home, configHome, localAppData string // directories of the user; configHome is XDG_CONFIG_HOME or ~/.config
	etc, lib                       string // where a machine is configured, and where packages put their units
	uid, user                      string
	program                        string // the path of this program
	systemd                        bool   // it runs here
	lingers                        bool   // the user's services run without a session
}

// step is a command of a service manager.
type step struct {
	argv    []string
	mayFail bool // where there may be nothing to do
}

// String returns the command as a shell reads it.
func (s step) String() string {
	words := make([]string, len(s.argv))
	for i, w := range s.argv {
		if words[i] = w; strings.ContainsAny(w, " '\"\\$") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// plan is what a service is with a manager.
type plan struct {
	path    string                       // of its file
	packed  string                       // the file of a package that does the same; "": there is none
	text    func(f service.Facts) string // of the file
	encode  func(string) []byte          // how the text is written
	starts  []step                       // after the file was written
	renews  []step                       // likewise, in place of an older one
	stops   []step                       // before the file is removed
	forgets []step                       // after it was removed
	state   []string                     // the command that prints the state
	runs    bool                         // the manager runs here
	logs    string                       // how its log is read
	hint    string                       // what else to know; "": nothing
	env     map[string]string            // variables that the service has in place of the user's
}

// plan returns the plan for this host. args are those of `serve`.
func (c *serviceCmd) plan(args []string) (plan, error) {
	h, err := c.host(c.Streams.Env)
	if err != nil {
		return plan{}, err
	}
	p, err := planFor(h, c.system, args)
	return p, command.Failed(err)
}

// planFor returns the plan for a host. args are those of `serve`.
func planFor(h *host, system bool, args []string) (plan, error) {
	switch {
	case h.goos == "linux" && strings.ContainsAny(h.program, "\"'\\\n\r\t"):
		return plan{}, fmt.Errorf("%q has a character that systemd allows in no program's path; move the program", h.program)
	case h.goos == "linux" && system:
		return systemPlan(h, args)
	case system:
		return plan{}, errors.New("--system is for systemd; leave it out here")
	case h.goos == "linux":
		return userPlan(h, args), nil
	case h.goos == "darwin":
		return agentPlan(h, args), nil
	case h.goos == "windows":
		return taskPlan(h, args), nil
	}
	return plan{}, fmt.Errorf("there is no service manager that is known on %s; run `ridethrough serve` from yours", h.goos)
}

// unit is the name of the unit.
const unit = service.Name + ".service"

func userPlan(h *host, args []string) plan {
	d := service.Definition{Program: h.program, Args: args}
	p := systemdPlan(h, []string{"systemctl", "--user"})
	p.path, p.text = path.Join(h.configHome, "systemd", "user", unit), d.UserUnit
	p.logs = "journalctl --user -u " + service.Name
	if !h.lingers {
		p.hint = "It ends with your last session. To keep it running without one: loginctl enable-linger " + h.user
	}
	return p
}

// systemPlan refuses a program that the unit could not run: it sees no homes, and a /tmp of its own.
func systemPlan(h *host, args []string) (plan, error) {
	for _, dir := range []string{"/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"} {
		if strings.HasPrefix(h.program, dir) {
			return plan{}, fmt.Errorf("%s is below %s, which a system service does not see; copy it to /usr/local/bin and run that", h.program, dir)
		}
	}
	d := service.Definition{Program: h.program, Args: args}
	p := systemdPlan(h, []string{"systemctl"})
	p.path, p.text = path.Join(h.etc, "systemd", "system", unit), d.SystemUnit
	p.packed = path.Join(h.lib, "systemd", "system", unit)
	p.logs = "journalctl -u " + service.Name
	p.hint = "Its configuration is " + path.Join(h.etc, "ridethrough", "config.yaml") + ", its keys are in " +
		path.Join(h.etc, "ridethrough", "environment") + " (both optional), and its data are in /var/lib/ridethrough."
	p.env = map[string]string{"XDG_CONFIG_HOME": h.etc}
	return p, nil
}

// systemdPlan returns what both kinds of units have.
func systemdPlan(h *host, systemctl []string) plan {
	run := func(args ...string) step {
		return step{argv: append(systemctl[:len(systemctl):len(systemctl)], args...)}
	}
	return plan{
		encode:  func(text string) []byte { return []byte(text) },
		starts:  []step{run("daemon-reload"), run("enable", "--now", unit)},
		renews:  []step{run("daemon-reload"), run("enable", unit), run("restart", unit)},
		stops:   []step{run("disable", "--now", unit)},
		forgets: []step{run("daemon-reload")},
		state:   run("show", "--property=ActiveState,SubState,Result,MainPID", unit).argv,
		runs:    h.systemd,
	}
}

func agentPlan(h *host, args []string) plan {
	d := service.Definition{Program: h.program, Home: h.home}
	d.Args = append(args[:len(args):len(args)], "--log-file", d.AgentLog())
	domain := "gui/" + h.uid
	file := path.Join(h.home, "Library", "LaunchAgents", service.Label+".plist")
	begin := step{argv: []string{"launchctl", "bootstrap", domain, file}}
	end := step{argv: []string{"launchctl", "bootout", domain + "/" + service.Label}, mayFail: true}
	enable := step{argv: []string{"launchctl", "enable", domain + "/" + service.Label}}
	return plan{
		path: file, text: d.Agent, encode: func(text string) []byte { return []byte(text) },
		starts: []step{enable, {argv: begin.argv, mayFail: true}, {argv: []string{"launchctl", "kickstart", domain + "/" + service.Label}}},
		renews: []step{end, enable, begin},
		stops:  []step{end},
		state:  []string{"launchctl", "print", domain + "/" + service.Label},
		runs:   true,
		logs:   d.AgentLog(),
	}
}

func taskPlan(h *host, args []string) plan {
	dir := h.localAppData + `\ridethrough\`
	d := service.Definition{Program: h.program, User: h.user}
	d.Args = append(args[:len(args):len(args)], "--log-file", dir+"gateway.log")
	create := step{argv: []string{"schtasks", "/Create", "/TN", service.Name, "/XML", dir + "service.xml", "/F"}}
	begin := step{argv: []string{"schtasks", "/Run", "/TN", service.Name}}
	end := step{argv: []string{"schtasks", "/End", "/TN", service.Name}, mayFail: true}
	return plan{
		path: dir + "service.xml", text: d.Task, encode: service.UTF16,
		starts: []step{create, begin},
		renews: []step{end, create, begin},
		stops:  []step{end, {argv: []string{"schtasks", "/Delete", "/TN", service.Name, "/F"}}},
		runs:   true,
		logs:   dir + "gateway.log",
	}
}
