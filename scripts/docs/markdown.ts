// Markdown of the documentation as HTML, with the parts of each page that the search knows.
import { posix } from 'node:path'
import { Marked, type Token, type Tokens } from 'marked'
import { requestSamples } from '../../src/edge/http/docs/samples.ts'
import { anchorOf } from '../../web/docs/find.ts'
import { requestOfBlock } from './request.ts'

/** A part of a page, from a heading to the next. */
export interface Section {
  readonly heading: string
  /** Behind `#`; empty for the beginning of the page. */
  readonly anchor: string
  readonly text: string
}

export interface RenderedPage {
  readonly title: string
  readonly html: string
  readonly sections: readonly Section[]
  /** Files that the page shows or links, from the root of the repository. */
  readonly files: ReadonlySet<string>
}

/** Where a link to a file of the repository leads from this page; null: nowhere, so its text stays alone. */
export type AddressOf = (file: string) => string | null

/** @param path of the page, from the root of the repository */
export function renderPage(path: string, text: string, addressOf: AddressOf): RenderedPage {
  const files = new Set<string>()
  const anchors = new Anchors()
  const resolve = (href: string): string | null => {
    if (/^[a-z]+:/.test(href) || href.startsWith('#')) return href
    const [file = '', anchor] = href.split('#')
    const target = posix.join(posix.dirname(path), file)
    const address = addressOf(target)
    if (address !== null) files.add(target)
    return address === null || anchor === undefined ? address : `${address}#${anchor}`
  }
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }: Tokens.Heading) {
        const inner = this.parser.parseInline(tokens)
        return `<h${depth} id="${anchors.next(plainText(tokens))}">${inner}</h${depth}>\n`
      },
      link({ href, tokens }: Tokens.Link) {
        const address = resolve(href)
        const inner = this.parser.parseInline(tokens)
        return address === null ? inner : `<a href="${escaped(address)}">${inner}</a>`
      },
      image({ href, text: alternative }: Tokens.Image) {
        return `<img src="${escaped(resolve(href) ?? href)}" alt="${escaped(alternative)}" loading="lazy">`
      },
      code: ({ text: code, lang = '' }: Tokens.Code) => (/^http\b/.test(lang) ? samplesBlock(code) : codeBlock(code)),
      table(token: Tokens.Table) {
        // It scrolls, so the keyboard must reach it.
        return `<div class="wide" tabindex="0">${tableOf(token, (cell) => this.parser.parseInline(cell.tokens))}</div>\n`
      },
    },
  })
  const tokens = marked.lexer(text)
  const html = marked.parser(tokens)
  const sections = sectionsOf(tokens)
  return { title: sections[0]?.heading ?? path, html, sections, files }
}

/** It scrolls, so the keyboard must reach it. */
const codeBlock = (code: string, attributes = ''): string =>
  `<pre tabindex="0"${attributes}><code>${escaped(code)}\n</code></pre>\n`

/** The request of a block in each language. Without scripts only the first is shown. */
function samplesBlock(request: string): string {
  const blocks = requestSamples(requestOfBlock(request)).map(({ language, code }, at) =>
    codeBlock(code, ` data-language="${language}"${at === 0 ? '' : ' hidden'}`),
  )
  return `<div class="samples">\n${blocks.join('')}</div>\n`
}

/** A table without headings has no head: its first row is empty in Markdown. */
function tableOf({ header, rows }: Tokens.Table, inline: (cell: Tokens.TableCell) => string): string {
  const hasHead = header.some(({ text }) => text !== '')
  const row = (cells: readonly Tokens.TableCell[], name: string): string =>
    `<tr>${cells.map((cell) => `<${name}>${inline(cell)}</${name}>`).join('')}</tr>\n`
  const head = hasHead ? `<thead>${row(header, 'th')}</thead>\n` : ''
  return `<table>\n${head}<tbody>\n${rows.map((cells) => row(cells, 'td')).join('')}</tbody>\n</table>`
}

/** Of one page: headings that are there twice have different anchors. */
class Anchors {
  readonly #taken = new Set<string>()

  next(heading: string): string {
    const anchor = anchorOf(heading)
    let unique = anchor
    for (let n = 1; this.#taken.has(unique); n++) unique = `${anchor}-${n}`
    this.#taken.add(unique)
    return unique
  }
}

function sectionsOf(tokens: readonly Token[]): readonly Section[] {
  const anchors = new Anchors()
  const sections: { heading: string; anchor: string; texts: string[] }[] = []
  for (const token of tokens) {
    if (token.type === 'heading') {
      const heading = plainText(token.tokens ?? [])
      const anchor = anchors.next(heading)
      sections.push({ heading, anchor: sections.length === 0 ? '' : anchor, texts: [] })
    } else sections.at(-1)?.texts.push(plainText([token]))
  }
  return sections.map(({ texts, ...section }) => ({ ...section, text: words(texts.join(' ')) }))
}

/** The text that people read, of blocks too. */
function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'table')
        return cellsOf(token as Tokens.Table)
          .map(plainText)
          .join(' ')
      if (token.type === 'list') return (token as Tokens.List).items.map((item) => plainText(item.tokens)).join(' ')
      if ('tokens' in token && token.tokens) return plainText(token.tokens)
      if (token.type === 'html' || token.type === 'space') return ' '
      return 'text' in token ? unescaped(String(token['text'])) : ' '
    })
    .join('')
}

const cellsOf = ({ header, rows }: Tokens.Table): readonly (readonly Token[])[] =>
  [header, ...rows].flat().map(({ tokens }) => tokens)

/** Without files of the sources, which a search for words need not find: they are a tenth of it. */
const words = (text: string): string => text.replaceAll(SOURCE_FILE, ' ').replaceAll(/\s+/g, ' ').trim()

const SOURCE_FILE = /\b(?:bench|scripts|src|test)\/[\w./*{},-]*\w/g

export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const unescaped = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
