package service

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// Task returns a task for the scheduler of Windows, which runs when the user logs on. [UTF16] is how its file is
// written.
func (d Definition) Task(f Facts) string {
	var args []string
	for _, a := range d.Args {
		args = append(args, quoteWindows(a))
	}
	return strings.ReplaceAll(sealed(`<?xml version="1.0" encoding="UTF-16"?>
<!-- {mark} -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>ridethrough, a gateway that rides out outages of model providers</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>`+quoteXML(d.User)+`</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>`+quoteXML(d.User)+`</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <Priority>5</Priority>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>999</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>`+quoteXML(d.Program)+`</Command>
      <Arguments>`+quoteXML(strings.Join(args, " "))+`</Arguments>
    </Exec>
  </Actions>
</Task>
`, f), "\n", "\r\n")
}

// quoteWindows quotes an argument as CommandLineToArgvW reads it: backslashes are doubled before a quotation mark.
func quoteWindows(arg string) string {
	if arg != "" && !strings.ContainsAny(arg, " \t\"") {
		return arg
	}
	var to strings.Builder
	to.WriteByte('"')
	slashes := 0
	for _, r := range arg {
		switch r {
		case '\\':
			slashes++
		case '"':
			to.WriteString(strings.Repeat(`\`, slashes+1)) // as many again, and one for the mark
			slashes = 0
		default:
			slashes = 0
		}
		to.WriteRune(r)
	}
	return to.String() + strings.Repeat(`\`, slashes) + `"`
}

// UTF16 returns a text as the files of Windows' scheduler have it, with a byte order mark.
func UTF16(text string) []byte {
	bytes := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		bytes = binary.LittleEndian.AppendUint16(bytes, unit)
	}
	return bytes
}

// Text reverses [UTF16]. Other texts stay.
func Text(file []byte) string {
	if len(file) < 2 || file[0] != 0xff || file[1] != 0xfe {
		return string(file)
	}
	var units []uint16
	for i := 2; i+1 < len(file); i += 2 {
		units = append(units, binary.LittleEndian.Uint16(file[i:]))
	}
	return string(utf16.Decode(units))
}
