// The site is made of the pages in docs, which scripts/site copies beside this folder. What leads out of docs leads to
// the repository, and an anchor is what GitHub makes of a heading, so that a link is the same in both places.
import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const repository = 'https://github.com/ridethrough/ridethrough/blob/main/'

// anchor returns the anchor of a heading as GitHub does.
const anchor = (heading) =>
  heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-')

// pages are the links of the manual's table of contents, by what a reader wants to do.
const rows = readFileSync(new URL('../pages/README.md', import.meta.url), 'utf8')
  .matchAll(/^\| ([^|]+) \| \[[^\]]*\]\(([a-z-]+)\.md\)/gm)
const pages = [...rows].map(([, text, page]) => ({ text: text[0].toUpperCase() + text.slice(1), link: `/${page}` }))

// leadOut makes links out of docs lead to the repository.
const leadOut = (markdown) => {
  markdown.core.ruler.push('lead-out', (state) => {
    const file = state.env.relativePath ?? ''
    for (const token of state.tokens.flatMap((t) => t.children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null
      if (!href || /^([a-z]+:|#)/.test(href)) continue
      const target = new URL(href, `https://docs.invalid/docs/${file}`)
      if (!target.pathname.startsWith('/docs/') || !/\.(md|svg|png)$/.test(target.pathname)) {
        token.attrSet('href', repository + target.pathname.slice(1) + target.hash)
      }
    }
  })
}

export default defineConfig({
  title: 'ridethrough',
  description: 'Calls of language models that outlast their provider’s bad minutes',
  srcDir: 'pages',
  rewrites: { 'README.md': 'index.md' },
  cleanUrls: true,
  lastUpdated: false,
  markdown: { anchor: { slugify: anchor }, toc: { slugify: anchor }, headers: { slugify: anchor }, config: leadOut },
  themeConfig: {
    search: { provider: 'local' },
    nav: [{ text: 'Repository', link: 'https://github.com/ridethrough/ridethrough' }],
    sidebar: [{ text: 'You want to', items: pages }],
    outline: 'deep',
  },
})
