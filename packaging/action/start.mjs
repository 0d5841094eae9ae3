// Installs the program of a release whose checksum fits, and starts a gateway that lives until the end of the job.
import { spawn, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const input = (name) => (process.env[`INPUT_${name.toUpperCase()}`] ?? "").trim();
const dir = join(process.env.RUNNER_TEMP, "ridethrough");
const startTime = 30_000;

try {
  mkdirSync(dir, { recursive: true });
  await install();
  await start();
} catch (err) {
  console.log(`::error title=ridethrough::${err.message}`);
  process.exitCode = 1;
}

async function get(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} answers with ${answer.status}`);
  return Buffer.from(await answer.arrayBuffer());
}

async function install() {
  const ref = process.env.GITHUB_ACTION_REF ?? "";
  const version = input("version") || (/^v\d+\.\d+\.\d+/.test(ref) ? ref : "");
  const base = input("releases").replace(/\/$/, "") + (version ? `/download/${version}` : "/latest/download");
  const os = { win32: "windows" }[process.platform] ?? process.platform;
  const arch = { x64: "amd64" }[process.arch] ?? process.arch;
  const ending = `_${os}_${arch}.${os === "windows" ? "zip" : "tar.gz"}`;
  const sums = (await get(`${base}/checksums.txt`)).toString().split("\n").map((line) => line.trim().split(/\s+/));
  const [sum, file] = sums.find(([, name]) => name?.startsWith("ridethrough_") && name.endsWith(ending)) ?? [];
  if (!file) throw new Error(`the release at ${base} has no program for ${os} on ${arch}`);
  const archive = await get(`${base}/${file}`);
  const is = createHash("sha256").update(archive).digest("hex");
  if (is !== sum) throw new Error(`${file} has the checksum ${is}, but checksums.txt says ${sum}: it is not installed`);
  writeFileSync(join(dir, file), archive);
  execFileSync("tar", ["-xf", file], { cwd: dir });
  appendFileSync(process.env.GITHUB_PATH, `${dir}\n`);
}

// The gateway is that of `exec` around a program that only waits: so its variables, its limit and its summary have one
// place, in the program.
async function start() {
  const [log, ready] = [join(dir, "exec.log"), join(dir, "ready")];
  const flags = ["exec", "--own", "--policy", input("policy"), "--max-wait", input("max-wait")];
  for (const upstream of input("upstreams").split(/\s+/).filter(Boolean)) flags.push("--upstream", upstream);
  const hold = fileURLToPath(new URL("hold.mjs", import.meta.url));
  const to = openSync(log, "a");
  const child = spawn(join(dir, "ridethrough"), [...flags, "--", process.execPath, hold], {
    detached: true,
    stdio: ["ignore", to, to],
    env: {
      ...process.env,
      PATH: dir + delimiter + process.env.PATH,
      RIDETHROUGH_READY: ready,
      GITHUB_STEP_SUMMARY: join(dir, "summary.md"), // a step's own is gone with the step
    },
  });
  let ended = false;
  child.on("exit", () => (ended = true));
  child.on("error", () => (ended = true));
  for (const begin = Date.now(); !existsSync(ready); await sleep(50)) {
    if (ended || Date.now() - begin > startTime) throw new Error(`the gateway did not start: ${readFileSync(log, "utf8").trim()}`);
  }
  child.unref();
  appendFileSync(process.env.GITHUB_STATE, `exec=${child.pid}\nhold=${readFileSync(ready, "utf8")}\n`);
  console.log(`Calls of later steps wait for at most ${input("max-wait")} each.`);
}
