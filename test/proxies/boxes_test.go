package proxies_test

import (
	"cmp"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// box is a proxy and how it is started. In its command and file DIR is a directory of its own, PORT where it listens
// and UPSTREAM whom it asks.
type box struct {
	name    string
	command string
	file    string // the name of its configuration in DIR
	config  string
	forward bool // a proxy that the request is addressed through; the others are an address of their own
}

// boxes have the limits of their packages in Debian, and what they cannot do without. One "as advised" has what
// docs/proxies.md tells to set.
var boxes = []box{
	{name: "nginx", command: "nginx -p DIR -c DIR/nginx.conf", file: "nginx.conf", config: nginx("")},
	{name: "nginx as advised", command: "nginx -p DIR -c DIR/nginx.conf", file: "nginx.conf", config: nginx("proxy_buffering off;")},
	{name: "haproxy", command: "haproxy -db -f DIR/haproxy.cfg", file: "haproxy.cfg", config: `defaults
  mode http
  timeout connect 5s
  timeout client 50s
  timeout server 50s
listen all
  bind 127.0.0.1:PORT
  server one UPSTREAM
`},
	{name: "Varnish", command: "varnishd -F -j none -n DIR/varnish -a 127.0.0.1:PORT -b UPSTREAM -s malloc,32m"},
	{name: "Apache", command: "apache2 -DFOREGROUND -f DIR/apache.conf", file: "apache.conf", config: `ServerRoot /usr/lib/apache2
ServerName 127.0.0.1
User www-data
Group www-data
DefaultRuntimeDir DIR
PidFile DIR/pid
ErrorLog DIR/error.log
Timeout 300
Listen 127.0.0.1:PORT
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule proxy_module modules/mod_proxy.so
LoadModule proxy_http_module modules/mod_proxy_http.so
ProxyPass / http://UPSTREAM/
`},
	{name: "Privoxy", forward: true, command: "privoxy --no-daemon --pidfile DIR/pid DIR/privoxy", file: "privoxy", config: privoxy("")},
	{name: "Privoxy as advised", forward: true, command: "privoxy --no-daemon --pidfile DIR/pid DIR/privoxy", file: "privoxy", config: privoxy("actionsfile DIR/more.action")},
}

// nginx returns a configuration with a setting for the location.
func nginx(setting string) string {
	return `daemon off;
pid DIR/pid;
error_log DIR/error.log;
events {}
http {
  access_log off;
  client_body_temp_path DIR/body;
  proxy_temp_path DIR/proxy;
  fastcgi_temp_path DIR/fastcgi;
  uwsgi_temp_path DIR/uwsgi;
  scgi_temp_path DIR/scgi;
  server {
    listen 127.0.0.1:PORT;
    location / { proxy_pass http://UPSTREAM; ` + setting + ` }
  }
}
`
}

// privoxy returns the configuration of the package, with another line in it.
func privoxy(line string) string {
	return `confdir /etc/privoxy
logdir DIR
actionsfile match-all.action
actionsfile default.action
filterfile default.filter
` + line + `
listen-address 127.0.0.1:PORT
toggle 1
buffer-limit 4096
keep-alive-timeout 5
tolerate-pipelining 1
socket-timeout 300
`
}

// start runs the box until the test is over, and returns its address.
func (b box) start(t *testing.T, upstream string) (address string) {
	t.Helper()
	dir := t.TempDir()
	address = free(t)
	_, port, _ := net.SplitHostPort(address)
	fill := strings.NewReplacer("DIR", dir, "PORT", port, "UPSTREAM", upstream)
	for name, text := range map[string]string{cmp.Or(b.file, "none"): b.config, "more.action": "{-filter}\n/\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(fill.Replace(text)), 0o600); err != nil {
			t.Fatalf("%s: %v", b.name, err)
		}
	}
	args := strings.Fields(fill.Replace(b.command))
	p := run(t, exec.Command(args[0], args[1:]...))
	for limit := time.Now().Add(5 * time.Minute); ; { // Varnish compiles its configuration
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return address
		}
		select {
		case <-p.ended:
			t.Fatalf("%s has ended: %s", b.name, p.output())
		case <-time.After(20 * time.Millisecond):
			if time.Now().After(limit) {
				t.Fatalf("%s does not listen after five minutes: %s", b.name, p.output())
			}
		}
	}
}

// free returns an address that the kernel has just given and taken back: none of the boxes says which port it got.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
