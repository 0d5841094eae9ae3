package config

// file is the codec of the configuration file.
func file(start func(*reader, *node) Config) form[Config] {
	return object(
		schema{words: "the fields of a configuration"}, start,
		of("listen", address(), func(c *Config) *string { return &c.Listen }, says{
			"The address to listen on. Port 0 picks a free port. An address that other machines can reach requires a token.", DefaultListen, "",
		}),
		of("token", places(), func(c *Config) *secret { return &c.token }, says{
			"The token that clients must send. Without one, every client that can reach the gateway may use it.", "", "none, which only a loopback address allows",
		}),
		of("hosts", seq("a list of host names", host()), func(c *Config) *[]string { return &c.Hosts }, says{
			"The Host names that the gateway accepts, besides localhost and this machine's own addresses.", "", "no others",
		}),
		of("policy", choices(), func(c *Config) *choice { return &c.policy }, says{
			"The retry policy of upstreams without a policy of their own.", "patient", "",
		}),
		of("policies", byName("policies by name", policyName(), numbers()), func(c *Config) *[]named[rule] { return &c.policies }, says{
			"Your own policies by name. A name begins with a letter.", "", "only the presets",
		}),
		of("upstreams", byName("upstreams by name", upstreamName(), upstreams()), func(c *Config) *[]named[upstream] { return &c.upstreams }, says{
			"The providers by name: lower-case letters, digits, '-', '.' and '_'. Requests to /NAME/… go to that upstream, others to the first one with their API. These replace the defaults.", "", "one for each API, at its public URL and named after the API",
		}),
		of("spool", spools(), func(c *Config) *spool { return &c.spool }, says{
			"Where bodies of waiting requests are stored.", "", "in memory, then on disk",
		}),
		of("log", oneOf("a level", "debug", "info", "warn", "error"), func(c *Config) *string { return &c.Log }, says{
			"The lowest level that is logged.", "info", "",
		}),
	)
}
