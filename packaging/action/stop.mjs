// Stops the gateway and adds what it held to the job's summary.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const dir = join(process.env.RUNNER_TEMP, "ridethrough");
const stopTime = 30_000;

const lives = (pid) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const [gateway, hold] = [Number(process.env.STATE_exec), Number(process.env.STATE_hold)];
if (gateway) {
  if (lives(hold)) process.kill(hold);
  for (const begin = Date.now(); lives(gateway) && Date.now() - begin < stopTime; ) await sleep(50);
  const [log, summary] = ["exec.log", "summary.md"].map((name) => join(dir, name));
  const said = readFileSync(log, "utf8").trim().replace(/^ridethrough: node sent .*$/m, "No request came through the gateway.");
  console.log(said || "No call had to wait.");
  if (existsSync(summary)) appendFileSync(process.env.GITHUB_STEP_SUMMARY, readFileSync(summary));
}
