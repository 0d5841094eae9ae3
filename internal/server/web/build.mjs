// Builds the page from src into dist, or into the folder that is named. The
// same sources give the same bytes, which .ci/run holds the committed dist to.
//
//	npm ci --prefix internal/server/web --ignore-scripts && npm run build --prefix internal/server/web
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { build } from 'esbuild'

const here = dirname(fileURLToPath(import.meta.url))
const out = process.argv[2] ?? join(here, 'dist')

await rm(out, { recursive: true, force: true })
await mkdir(out, { recursive: true })
await build({
  absWorkingDir: here,
  entryPoints: [{ in: 'src/main.tsx', out: 'app' }, { in: 'src/style.css', out: 'app' }],
  outdir: out,
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['es2022', 'chrome120', 'firefox121', 'safari17'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'warning',
})
await cp(join(here, 'src/page'), out, { recursive: true }) // the document and the icons, as they are

const licence = async (name) => `${name}\n\n${(await readFile(join(here, 'node_modules', name, 'LICENSE'), 'utf8')).trim()}\n`
await writeFile(join(out, 'licenses.txt'), (await Promise.all(['preact', '@preact/signals'].map(licence))).join('\n'))
