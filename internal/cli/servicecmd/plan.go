package servicecmd

import (
	_ "embed"
	"errors"
	"fmt"
	"html"
	"path"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/internal/cli/command"
)

// The files of the managers. Their times exceed the program's own: answers in progress end within 10 s, then notices,
// spans and the store have seconds; a large store is read before the gateway is ready; signs of life come every 5 s,
// unless a loop is frozen for 30. ProcSubset=pid is left out: without /proc/sys Go listens with a backlog of 128.
var (
	//go:embed units/user.service
	userUnit string

	// The gateway has its own user and directory. It cannot read the homes or write anything else.
	//go:embed units/system.service
	systemUnit string

	//go:embed units/agent.plist
	agent string

	//go:embed units/task.xml
	task string
)

// The service's name with service managers, and launchd's label.
const (
	name  = "ridethrough"
	unit  = name + ".service"
	label = "dev.ridethrough.gateway"
)

// plan is how one service manager runs the service.
type plan struct {
	path       string // of its file
	packed     string // the file of a package that does the same, or ""
	text       string // of the file, without its mark
	starts     []step // after the file was written
	renews     []step // likewise, in place of an older one
	stops      []step // before the file is removed
	forgets    []step // after it was removed
	state      step   // prints the state; "": there is no such command
	runs       bool   // the manager runs here
	logs       string // how its log is read
	hint       string // what else to know; "": nothing
	configHome string // the service's XDG_CONFIG_HOME; "": the user's
}

// step is a command of a service manager, in which FILE is the service's file. One that begins with "-" may fail,
// where there may be nothing to do.
type step string

func (p *plan) argv(s step) []string {
	argv := strings.Fields(strings.TrimPrefix(string(s), "-"))
	if i := slices.Index(argv, "FILE"); i >= 0 {
		argv[i] = p.path
	}
	return argv
}

func (p *plan) shell(s step) string {
	file := p.path
	if strings.ContainsAny(file, " '\"\\$") {
		file = "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
	}
	return strings.Replace(strings.TrimPrefix(string(s), "-"), "FILE", file, 1)
}

// plan returns the plan for this host and a configuration file, or "" for none.
func (c *serviceCmd) plan(config string) (plan, error) {
	h, err := c.host(c.Streams.Env)
	if err != nil {
		return plan{}, command.Failed(err)
	}
	p, err := planFor(h, c.system, config)
	return p, command.Failed(err)
}

// planFor returns the plan for a host and a configuration file; "": none. The service takes no other flags, so that
// `status` finds the gateway by the configuration.
func planFor(h *host, system bool, config string) (plan, error) {
	args := []string{h.program, "serve"}
	if config != "" {
		args = append(args, "--config", config)
	}
	switch {
	case system && h.goos != "linux":
		return plan{}, errors.New("--system is for systemd; leave it out here")
	case h.goos == "linux":
		return systemdPlan(h, system, args)
	case h.goos == "darwin":
		return agentPlan(h, args), nil
	case h.goos == "windows":
		return taskPlan(h, args), nil
	}
	return plan{}, fmt.Errorf("there is no service manager that is known on %s; run `ridethrough serve` from yours", h.goos)
}

// systemdPlan refuses a program that the unit could not run: a unit of the machine sees no homes and has its own
// /tmp.
func systemdPlan(h *host, system bool, args []string) (plan, error) {
	if strings.ContainsAny(h.program, "\"'\\\n\r\t") {
		return plan{}, fmt.Errorf("%q has a character that systemd allows in no program's path; move the program", h.program)
	}
	systemctl, text, p := step("systemctl "), systemUnit, plan{runs: h.systemd}
	if !system {
		systemctl, text = "systemctl --user ", userUnit
		p.path, p.logs = path.Join(h.configHome, "systemd", "user", unit), "journalctl --user -u "+name
		if !h.lingers {
			p.hint = "It ends with your last session. To keep it running without one: loginctl enable-linger " + h.user
		}
	} else {
		for _, dir := range []string{"/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"} {
			if strings.HasPrefix(h.program, dir) {
				return plan{}, fmt.Errorf("%s is below %s, which a system service does not see; copy it to /usr/local/bin and run that", h.program, dir)
			}
		}
		p.path, p.logs = path.Join(h.etc, "systemd", "system", unit), "journalctl -u "+name
		p.packed, p.configHome = path.Join(h.lib, "systemd", "system", unit), h.etc
		p.hint = "Its configuration is " + path.Join(h.etc, "ridethrough", "config.yaml") + ", its keys are in " +
			path.Join(h.etc, "ridethrough", "environment") + " (both optional), and its data are in /var/lib/ridethrough."
	}
	p.text = strings.Replace(text, "{command}", execStart(args), 1)
	p.starts = []step{systemctl + "daemon-reload", systemctl + "enable --now " + unit}
	p.renews = []step{systemctl + "daemon-reload", systemctl + "enable " + unit, systemctl + "restart " + unit}
	p.stops, p.forgets = []step{systemctl + "disable --now " + unit}, []step{systemctl + "daemon-reload"}
	p.state = systemctl + "show --property=ActiveState,SubState,Result,MainPID " + unit
	return p, nil
}

// execStart quotes a command as systemd.service(5) does. Variables are expanded in arguments, but not in the
// program's path.
func execStart(args []string) string {
	quoted := make([]string, len(args))
	for i, word := range args {
		word = strings.ReplaceAll(word, "%", "%%")
		if i > 0 {
			word = strings.ReplaceAll(word, "$", "$$")
		}
		if strings.ContainsAny(word, " \t\n\r\"'\\;") {
			word = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(word) + `"`
		}
		quoted[i] = word
	}
	return strings.Join(quoted, " ")
}

func agentPlan(h *host, args []string) plan {
	logs := path.Join(h.home, "Library", "Logs")
	var words strings.Builder
	for _, arg := range append(args, "--log-file", path.Join(logs, name+".log")) {
		words.WriteString("\n\t\t<string>" + html.EscapeString(arg) + "</string>")
	}
	domain := step("gui/" + h.uid)
	service, begin := domain+"/"+label, "launchctl bootstrap "+domain+" FILE"
	return plan{
		path:   path.Join(h.home, "Library", "LaunchAgents", label+".plist"),
		text:   strings.NewReplacer("{command}", words.String(), "{crashes}", html.EscapeString(path.Join(logs, name+".crash.log"))).Replace(agent),
		starts: []step{"launchctl enable " + service, "-" + begin, "launchctl kickstart " + service},
		renews: []step{"-launchctl bootout " + service, "launchctl enable " + service, begin},
		stops:  []step{"-launchctl bootout " + service},
		state:  "launchctl print " + service,
		runs:   true,
		logs:   path.Join(logs, name+".log"),
	}
}

func taskPlan(h *host, args []string) plan {
	dir := h.localAppData + `\ridethrough\`
	args = append(args[1:], "--log-file", dir+"gateway.log")
	for i, arg := range args {
		if strings.Contains(arg, " ") { // there is no quotation mark in a path of Windows
			args[i] = `"` + arg + `"`
		}
	}
	text := strings.NewReplacer("\n", "\r\n", "{user}", html.EscapeString(h.user), "{program}", html.EscapeString(h.program),
		"{arguments}", html.EscapeString(strings.Join(args, " "))).Replace(task)
	const create, begin, end = "schtasks /Create /TN " + name + " /XML FILE /F", "schtasks /Run /TN " + name, "-schtasks /End /TN " + name
	return plan{
		path: dir + "service.xml", text: text,
		starts: []step{create, begin},
		renews: []step{end, create, begin},
		stops:  []step{end, "schtasks /Delete /TN " + name + " /F"},
		runs:   true,
		logs:   dir + "gateway.log",
	}
}
