#!/usr/bin/env node
// Starts the program of this platform, which is in an optional dependency, and ends as it does.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { name, version } = require("./package.json");

const platform = `@ridethrough/${name}-${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? `${name}.exe` : name;

let program;
try {
	program = require.resolve(`${platform}/bin/${file}`);
} catch {
	console.error(
		`${name}: ${platform}@${version} is not installed. Either there is no program for ${process.platform}-${process.arch},\n` +
			"or npm left out optional dependencies: install again without --omit=optional.",
	);
	process.exit(1);
}

// A terminal sends its signals to the child too, which decides what they mean. Those for this process alone are passed
// on, from before there is a child to leave behind.
let child;
for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (err) => {
	console.error(`${name}: ${err.message}`);
	process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
