// Runs behind `ridethrough exec` until it is stopped, and hands what it was given to the later steps of the job.
import { appendFileSync, renameSync, writeFileSync } from "node:fs";

const given = /^(ANTHROPIC|OPENAI|GOOGLE|GEMINI|OLLAMA|COPILOT|NO_PROXY|no_proxy)(_|$)/;
const { RIDETHROUGH_READY: ready, GITHUB_ENV: file, ANTHROPIC_BASE_URL: url } = process.env;
const lines = Object.entries(process.env).filter(([name, value]) => given.test(name) && /127\.0\.0\.1/.test(value));
appendFileSync(file, lines.map(([name, value]) => `${name}=${value}\n`).join("") + `RIDETHROUGH_LISTEN=${new URL(url).host}\n`);
writeFileSync(`${ready}.new`, String(process.pid));
renameSync(`${ready}.new`, ready);
setInterval(() => {}, 1 << 30);
