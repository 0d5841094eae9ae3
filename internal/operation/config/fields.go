package config

// file is the form of the whole file.
func file(start func(*reader, *node) Config) form[Config] {
	return object(
		schema{words: "the fields of a configuration"}, start,
		of("listen", address(), func(c *Config) *string { return &c.Listen }, says{
			"The address to listen on. Port 0 takes a free one. An address that other machines can reach needs a token.", DefaultListen, "",
		}),
		of("token", places(), func(c *Config) *secret { return &c.token }, says{
			"What clients have to show. Anybody may use the gateway who reaches it, unless there is one.", "", "none, which only an address of this machine may have",
		}),
		of("hosts", seq("a list of host names", host()), func(c *Config) *[]string { return &c.Hosts }, says{
			"The names under which the gateway answers, besides localhost and this machine's own addresses.", "", "no others",
		}),
		of("policy", choices(), func(c *Config) *choice { return &c.policy }, says{
			"When to try again, for the upstreams that have no policy of their own.", "patient", "",
		}),
		of("policies", byName("policies by their names", policyName(), numbers()), func(c *Config) *[]named[rule] { return &c.policies }, says{
			"Policies of your own by their names, which begin with a letter.", "", "the presets only",
		}),
		of("upstreams", byName("upstreams by their names", upstreamName(), upstreams()), func(c *Config) *[]named[upstream] { return &c.upstreams }, says{
			"The providers by their names, which are made of lower-case letters, digits, '-', '.' and '_'. Requests to /NAME/… go to that upstream; others to the first one here that has their API. There are no others than these.", "", "one for each API, at its public URL, named like the API",
		}),
		of("spool", spools(), func(c *Config) *spool { return &c.spool }, says{
			"Where the bodies of waiting requests are kept.", "", "in memory, then on disk",
		}),
		of("log", oneOf("a level", "debug", "info", "warn", "error"), func(c *Config) *string { return &c.Log }, says{
			"The least level of what is logged.", "info", "",
		}),
	)
}
