import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const repository = fileURLToPath(new URL('../../', import.meta.url))

/** A page of the documentation. */
export interface Page {
  /** From the root of the repository. */
  readonly path: string
  readonly text: string
}

/** A fenced block: its language, what its fence says after the language, and where it begins. */
export interface Block {
  readonly language: string
  readonly note: string
  readonly code: string
  readonly line: number
}

const AT_THE_TOP = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md']

const readPage = (path: string): Page => ({ path, text: readFileSync(repository + path, 'utf8') })

/** Every page: those at the top of the repository and those below `docs`. */
export function readPages(): Page[] {
  const below = readdirSync(`${repository}docs`, { recursive: true, encoding: 'utf8' })
  const pages = below.filter((path) => path.endsWith('.md')).sort()
  return [...AT_THE_TOP, ...pages.map((path) => `docs/${path.replaceAll('\\', '/')}`)].map(readPage)
}

/** The fenced blocks of a page, in their order, those of lists too. */
export function blocksOf(text: string): Block[] {
  return [...text.matchAll(/^( *)```(\w+)[ \t]*(.*)\n([\s\S]*?)^\1```$/gm)].map((found) => {
    const [, indent = '', language = '', note = '', code = ''] = found
    const line = text.slice(0, found.index).split('\n').length
    return { language, note, code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''), line }
  })
}

const withoutBlocks = (text: string): string => text.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '')

/** What a link can name behind `#`, as the usual renderers make it from headings. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of withoutBlocks(text).matchAll(/^#{1,6} (.+)$/gm)) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    const anchor = plain
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    let unique = anchor
    for (let n = 1; anchors.has(unique); n++) unique = `${anchor}-${n}`
    anchors.add(unique)
  }
  return anchors
}

/** The targets of the links of a page that lead to no other host. */
export function linksOf(text: string): string[] {
  const plain = withoutBlocks(text).replaceAll(/`[^`\n]*`/g, '')
  return [...plain.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
}
