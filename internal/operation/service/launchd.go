package service

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AgentLog returns the log file of the agent.
func (d Definition) AgentLog() string { return path.Join(d.Home, "Library/Logs", Name+".log") }

// Agent returns a property list for launchd's agent of a user.
func (d Definition) Agent(f Facts) string {
	args := ""
	for _, a := range append([]string{d.Program}, d.Args...) {
		args += "\n\t\t<string>" + quoteXML(a) + "</string>"
	}
	crash := quoteXML(strings.TrimSuffix(d.AgentLog(), ".log") + ".crash.log")
	return sealed(`<?xml version="1.0" encoding="UTF-8"?>
<!-- {mark} -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>`+Label+`</string>
	<key>ProgramArguments</key>
	<array>`+args+`
	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ExitTimeOut</key>
	<integer>`+strconv.Itoa(stopSeconds)+`</integer>
	<key>ProcessType</key>
	<string>Interactive</string>
	<key>StandardErrorPath</key>
	<string>`+crash+`</string>
	<key>Umask</key>
	<integer>63</integer>
</dict>
</plist>
`, f)
}

// quoteXML returns a text as character data. Characters that XML does not have become U+FFFD.
func quoteXML(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && !strings.ContainsRune("\t\n\r", r) || r == 0xFFFE || r == 0xFFFF {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\t", "&#x9;", "\n", "&#xA;", "\r", "&#xD;").Replace(text)
}
