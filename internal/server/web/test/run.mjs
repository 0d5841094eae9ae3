// Runs the tests of what computes: each is bundled with the sources that it is
// about, and run by node.
import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { build } from 'esbuild'

const here = dirname(fileURLToPath(import.meta.url))
const out = join(here, '../node_modules/.test') // where the packages are found
const tests = readdirSync(here).filter((name) => name.endsWith('.test.mjs'))
await build({ entryPoints: tests.map((name) => join(here, name)), outdir: out, outExtension: { '.js': '.mjs' }, bundle: true, platform: 'node', format: 'esm', logLevel: 'warning' })
const ran = spawnSync('node', ['--test', '--test-reporter=spec', ...tests.map((name) => join(out, name))], { stdio: 'inherit', env: { ...process.env, TZ: 'UTC', SOURCES: here } })
rmSync(out, { recursive: true, force: true })
process.exit(ran.status ?? 1)
