package service

import (
	"strconv"
	"strings"
)

// UserUnit returns a unit for the systemd of a user.
func (d Definition) UserUnit(f Facts) string {
	return d.unit(f, "systemctl --user edit "+Name, `EnvironmentFile=-%E/ridethrough/environment
UMask=0077
NoNewPrivileges=yes
`, "default.target")
}

// SystemUnit returns a unit for the systemd of a machine. The gateway has a user of its own and a directory of its
// own, and can neither read the homes nor write anything else.
func (d Definition) SystemUnit(f Facts) string {
	return d.unit(f, "systemctl edit "+Name, `Environment=XDG_CONFIG_HOME=%E XDG_DATA_HOME=%S XDG_STATE_HOME=%S
EnvironmentFile=-%E/ridethrough/environment
DynamicUser=yes
StateDirectory=ridethrough
StateDirectoryMode=0700
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=yes
ProtectProc=invisible
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
PrivateDevices=yes
PrivateTmp=yes
PrivateUsers=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
LimitNOFILE=65536
`, "multi-user.target")
}

// unit returns a unit with settings of its kind.
func (d Definition) unit(f Facts, edit, settings, target string) string {
	after := ""
	if target == "multi-user.target" {
		after = "Wants=network-online.target\nAfter=network-online.target\n"
	}
	return sealed(`# {mark}
# To change it, use `+"`"+edit+"`"+`: a change in this file stops updates of it.
[Unit]
Description=ridethrough, a gateway that rides out outages of model providers
Documentation=https://github.com/ridethrough/ridethrough
`+after+`
[Service]
Type=notify
ExecStart=`+d.execStart()+`
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=2
RestartPreventExitStatus=2 78
TimeoutStartSec=`+strconv.Itoa(startSeconds)+`
TimeoutStopSec=`+strconv.Itoa(stopSeconds)+`
WatchdogSec=`+strconv.Itoa(watchdogSeconds)+`
`+settings+`
[Install]
WantedBy=`+target+`
`, f)
}

// execStart returns the program with its arguments as systemd.service(5) quotes them. Variables are replaced in
// arguments, and not in the program's path.
func (d Definition) execStart() string {
	line := quoteUnit(d.Program)
	for _, a := range d.Args {
		line += " " + strings.ReplaceAll(quoteUnit(a), "$", "$$")
	}
	return line
}

// quoteUnit quotes a word of a unit, if it must be.
func quoteUnit(word string) string {
	word = strings.ReplaceAll(word, "%", "%%")
	if word != "" && !strings.ContainsAny(word, " \t\n\r\"'\\;") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(word) + `"`
}
