package config

import "slices"

// file is the codec of the configuration file.
func file() codec[Config] {
	return object(&schema{expected: "the fields of a configuration"}, nil, slices.Concat(serving(), asking(), keeping())...)
}

// serving are the fields about who may reach the gateway.
func serving() []field[Config] {
	return []field[Config]{
		newField("listen", address(), func(c *Config) *string { return &c.Listen }, fieldDoc{
			"The address to listen on. Port 0 picks a free port. An address that other machines can reach requires a token.", DefaultListen, "",
		}),
		newField("tls", keyPairs(), func(c *Config) *keyPair { return &c.tls }, fieldDoc{
			"The certificate of the gateway. With it, clients need https and may use HTTP/2.", "", "no TLS",
		}),
		newField("token", secrets(), func(c *Config) *secret { return &c.token }, fieldDoc{
			"The token that clients must send, of 16 characters or more. Without this and tokens, every client that can reach the gateway may use it.", "", "none, which only a loopback address allows",
		}),
		newField("tokens", anyName("a path"), func(c *Config) *string { return &c.tokens }, fieldDoc{
			"A file with named tokens, each with scopes and an end, relative to the configuration file. `ridethrough token new` makes them. It is read again when it changes.", "", "no others than token",
		}),
		newField("hosts", seq[*[]string]("a list of host names", host()), func(c *Config) *[]string { return &c.Hosts }, fieldDoc{
			"The Host names that the gateway accepts, besides localhost and this machine's own addresses.", "", "no others",
		}),
		newField("origins", seq[*[]string]("a list of origins", origin()), func(c *Config) *[]string { return &c.Origins }, fieldDoc{
			"The origins of web pages that may use the gateway and its API below /-/ from a browser, such as an app on another port.", "", "no pages but the gateway's own, and those of installed apps with a scheme of their own",
		}),
	}
}

// asking are the fields about what is asked of providers, and how.
func asking() []field[Config] {
	policy := choices() // once, as it is large
	return []field[Config]{
		newField("policy", policy, func(c *Config) *choice { return &c.policy }, fieldDoc{
			"The retry policy of upstreams without a policy of their own. Without it, run is interactive and chat is attended.", "patient", "",
		}),
		newField("quota", quotas("quota", true), func(c *Config) *quota { return &c.quota }, fieldDoc{
			"What follows when a usage window is spent, such as the five hours of a subscription, and the provider says when it opens again. Accounts without credit and spend caps, which do not open by themselves, end a call at once. run and chat wait only with a quota in the file.", "", "the defaults",
		}),
		newField("supervisor", policy, func(c *Config) *choice { return &c.supervisor }, fieldDoc{
			"The policy by which a conversation's turn is taken up again after its worker failed, such as when its process died. What a turn waits for its provider does not count.", "worker", "",
		}),
		newField("policies", byName[*names[rule]]("policies by name", policyName(), policyFields()), func(c *Config) *names[rule] { return &c.policies }, fieldDoc{
			"Your own policies by name. A name begins with a letter.", "", "only the presets",
		}),
		newField("upstreams", byName[*names[upstream]]("upstreams by name", upstreamName(), upstreams(policy)), func(c *Config) *names[upstream] { return &c.upstreams }, fieldDoc{
			"The providers by name: lower-case letters, digits, '-', '.' and '_'. Requests to /NAME/… go to that upstream, others to the first one with their API. These replace the defaults.", "", "one for each API, at its public URL and named after the API",
		}),
		newField("mcp", byName[*names[mcpFields]]("MCP servers by name", shortName(), mcpServers(policy)), func(c *Config) *names[mcpFields] { return &c.mcp }, fieldDoc{
			"The MCP servers by name, whose tools agents may use. A tool is named `mcp__SERVER__TOOL`.", "", "none",
		}),
		newField("agents", byName[*names[agentFields]]("agents by name", shortName(), agents()), func(c *Config) *names[agentFields] { return &c.agents }, fieldDoc{
			"The agents by name. A conversation that chooses one, and `run` and `chat` with `--agent`, have its tools. A name begins with a letter.", "", "none, and conversations have no tools",
		}),
	}
}

// keeping are the fields about what the gateway reads, keeps and tells.
func keeping() []field[Config] {
	return []field[Config]{
		newField("faults", anyName("a path"), func(c *Config) *string { return &c.faults }, fieldDoc{
			"A file with your own readings of faults, relative to the configuration file. `ridethrough explain --wrong` adds to it. It is read again when it changes.", "", "faults.yaml beside the configuration, if it exists",
		}),
		newField("spool", spools(), func(c *Config) *spool { return &c.spool }, fieldDoc{
			"What the bodies of requests may take, in memory and on disk.", "", "the defaults",
		}),
		newField("receive", receives(), func(c *Config) *receive { return &c.receive }, fieldDoc{
			"How slowly a client may send a body. One that is slower is rejected with status 408.", "", "the defaults",
		}),
		newField("detached", detaches(), func(c *Config) *detached { return &c.detached }, fieldDoc{
			"Answers that are read to their end although the client has left, and kept for when it sends the same request again. They cost what they cost, also when it does not.", "", "off",
		}),
		newField("notices", notifies(), func(c *Config) *notices { return &c.notices }, fieldDoc{
			"Who is told about outages and limits, by webhook, ntfy, Slack or on the desktop.", "", "no one",
		}),
		newField("fleet", fleets(), func(c *Config) *string { return &c.Fleet }, fieldDoc{
			"The fleet of the gateway, with `--nats`: gateways with the same name act as one in an outage. `none`: it is on its own.", "", DefaultFleet,
		}),
		newField("nats-replicas", replicas(), func(c *Config) *int { return &c.Replicas }, fieldDoc{
			"How many NATS servers have a copy of the conversations, with `--nats`. `--nats-replicas` overrides it.", "", "one on each server, up to 3",
		}),
		newField("log", oneOf("a level", "debug", "info", "warn", "error"), func(c *Config) *string { return &c.Log }, fieldDoc{
			"The lowest level that is logged.", "info", "",
		}),
	}
}
