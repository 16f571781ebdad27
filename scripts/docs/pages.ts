// Writes the documentation as pages into build/docs/, with what their search knows. Vite has put the script there.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { anchorOf, type Known, type KnownPart } from '../../web/docs/find.ts'
import { type AddressOf, escaped, renderPage, type RenderedPage } from './markdown.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const out = join(repository, 'build/docs')

/** Pages outside of docs/ that readers of a server want too. */
const MORE = ['CHANGELOG.md', 'SECURITY.md']

/** The parts of the menu: folders below docs/, in the order in which people need them. */
const PARTS = [
  ['tutorials', 'Tutorials'],
  ['guides', 'Guides'],
  ['reference', 'Reference'],
  ['explain', 'Explanations'],
] as const

/** Folders whose pages are read one after the other, as the first page lists them; of others people look for a title. */
const READ_IN_ORDER: ReadonlySet<string> = new Set(['tutorials', 'explain'])

const read = (path: string): string => readFileSync(join(repository, path), 'utf8')
const { version } = JSON.parse(read('package.json')) as { version: string }
const sources = [
  ...readdirSync(join(repository, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path.replaceAll('\\', '/')}`)
    .sort(),
  ...MORE,
]

/** Where a page or a file of the repository is below build/docs/; null: it is not there. */
function builtPath(path: string): string | null {
  if (path === 'docs/README.md' || path === 'docs') return 'index.html'
  if (sources.includes(path)) return path.replace(/^docs\//, '').replace(/\.md$/, '.html')
  if (path.startsWith('docs/') && existsSync(join(repository, path))) return path.replace(/^docs\//, '')
  // Files for other programs, shown as text.
  return path.startsWith('packaging/') && /\.\w+$|file$/.test(path) ? `files/${path.split('/').at(-1)}.txt` : null
}

/** The relative address from one built file to another. */
const between = (from: string, to: string): string => posix.relative(posix.dirname(from), to)

const addressesFrom =
  (from: string): AddressOf =>
  (file) => {
    const to = builtPath(file)
    return to === null ? null : between(from, to)
  }

interface BuiltPage extends RenderedPage {
  readonly path: string
  readonly built: string
}

const pages: readonly BuiltPage[] = sources.map((path) => {
  const built = builtPath(path)!
  return { path, built, ...renderPage(path, read(path), addressesFrom(built)) }
})

function wholePage(page: BuiltPage): string {
  const up = '../'.repeat(page.built.split('/').length - 1) || './'
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${escaped(page.title)} · Sluice ${version}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${up}assets/docs.css">
<script src="${up}assets/docs.js" type="module"></script>
</head>
<body data-root="${up}">
<a class="skip" href="#main">To the content</a>
<header>
<p class="brand"><a href="${up}index.html">Sluice</a> <span>${version}</span></p>
<form role="search" hidden>
<label for="search">Search</label>
<input type="search" id="search" autocomplete="off" aria-controls="found">
</form>
</header>
<section id="found" aria-label="Results of the search" hidden></section>
<div class="columns">
${menuOf(page)}
<main id="main">
${page.html}</main>
</div>
</body>
</html>
`
}

const firstPage = read('docs/README.md')
const positionOf = ({ path }: BuiltPage): number => firstPage.indexOf(path.replace('docs/', ''))

function menuOf(current: BuiltPage): string {
  const parts = PARTS.map(([folder, name]) => {
    const members = pages
      .filter(({ path }) => path.startsWith(`docs/${folder}/`))
      .toSorted((a, b) => (READ_IN_ORDER.has(folder) ? positionOf(a) - positionOf(b) : a.title < b.title ? -1 : 1))
    return `<section>\n<h2>${name}</h2>\n<ul>\n${members.map((member) => menuItem(member, current)).join('')}</ul>\n</section>\n`
  })
  return `<nav class="menu" aria-label="Pages">\n<details open>\n<summary>Pages</summary>\n${parts.join('')}</details>\n</nav>`
}

const menuItem = (page: BuiltPage, current: BuiltPage): string =>
  `<li><a href="${between(current.built, page.built)}"${page === current ? ' aria-current="page"' : ''}>${escaped(page.title)}</a></li>\n`

function write(path: string, text: string): void {
  mkdirSync(dirname(join(out, path)), { recursive: true })
  writeFileSync(join(out, path), text)
}

/** The files that pages show or link, beside the pages. */
function copyFiles(): void {
  const named = new Set(pages.flatMap(({ files }) => [...files]))
  for (const file of named) {
    const to = builtPath(file)
    if (to === null || to.endsWith('.html')) continue
    mkdirSync(dirname(join(out, to)), { recursive: true })
    copyFileSync(join(repository, file), join(out, to))
  }
}

/**
 * They say again what guides and reference explain, or are figures, in a fifth of all text: their parts are found by their
 * headings alone.
 */
const FOUND_BY_HEADINGS =
  /^(?:docs\/guarantees\.md|docs\/reference\/performance\.md|docs\/decisions\/.*|CHANGELOG\.md)$/

/** What the search reads. */
const known = pages.map(({ path, title, built, sections }): Known => {
  const hasText = !FOUND_BY_HEADINGS.test(path)
  const parts = sections.map(({ heading, anchor, text }, n): KnownPart => {
    const part = [heading, hasText ? text : ''] as const
    return n === 0 || anchor === anchorOf(heading) ? part : [...part, anchor]
  })
  return [title, built, parts]
})
write('assets/search.json', JSON.stringify(known))
write('assets/docs.css', read('web/api/reference.css') + read('web/docs/docs.css'))
copyFiles()
// The first page last: it says that the others are there.
for (const page of pages.toSorted((a) => (a.built === 'index.html' ? 1 : -1))) write(page.built, wholePage(page))
