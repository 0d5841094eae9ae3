// Checks that every link of a built site leads to a file of it, and every anchor to an id: node check.mjs DIRECTORY
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'

const [root] = process.argv.slice(2)
const files = (dir) => readdirSync(dir).flatMap((name) => (statSync(join(dir, name)).isDirectory() ? files(join(dir, name)) : [join(dir, name)]))
const ids = new Map()
const idsOf = (file) => {
  if (!ids.has(file)) ids.set(file, new Set([...readFileSync(file, 'utf8').matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id)))
  return ids.get(file)
}
// fileOf returns the file that a path of the site shows.
const fileOf = (path) => [path, `${path}.html`, join(path, 'index.html')].map((name) => join(root, name)).find((name) => existsSync(name) && statSync(name).isFile())

let links = 0
const broken = []
for (const file of files(root).filter((name) => name.endsWith('.html'))) {
  for (const [, href] of readFileSync(file, 'utf8').matchAll(/\s(?:href|src)="([^"]*)"/g)) {
    if (/^(https?:|mailto:|data:)/.test(href)) continue
    links++
    const url = new URL(href.replaceAll('&amp;', '&'), `https://site.invalid/${relative(root, file)}`)
    const target = href.startsWith('#') ? file : fileOf(decodeURIComponent(url.pathname))
    if (!target) broken.push(`${relative(root, file)}: ${href} leads nowhere`)
    else if (url.hash && target.endsWith('.html') && !idsOf(target).has(decodeURIComponent(url.hash.slice(1)))) broken.push(`${relative(root, file)}: ${href} has no heading`)
  }
}
broken.forEach((line) => console.error(line))
console.log(`${links} links, ${broken.length} of them broken`)
process.exit(broken.length || links === 0 ? 1 : 0)
