import MiniSearch from 'minisearch'

/** A part of a page: title, heading, address below the documents, text. */
export type Known = readonly [title: string, heading: string, address: string, text: string]

export interface Found {
  readonly title: string
  readonly heading: string
  readonly address: string
  /** The text around the first word that was found. */
  readonly excerpt: string
}

const FOUND_MAX = 10

/** Of one page, so that others are seen too. */
const OF_A_PAGE_MAX = 2

/** Words of questions that say nothing about the answer. */
const EMPTY = new Set(
  'a an and are as at be by can do does for from get have how i if in is it my of on or the there this to what when '
    .concat('where which who why will with without you')
    .split(' '),
)

const OPTIONS = {
  idField: 'address',
  fields: ['title', 'heading', 'text'],
  storeFields: ['title', 'heading', 'text'],
  processTerm: (term: string): string | null => {
    const word = term.toLowerCase()
    return EMPTY.has(word) ? null : stemOf(word)
  },
  searchOptions: {
    boost: { title: 3, heading: 2 },
    boostDocument: (address: unknown): number => weightOf(String(address)),
    prefix: (term: string): boolean => term.length > 2,
    fuzzy: (term: string): number | boolean => (term.length > 4 ? 0.2 : false),
    weights: { prefix: 0.4, fuzzy: 0.2 },
  },
}

/** Without the endings that tell "refused" from "refuse" and "countries" from "country". */
const stemOf = (word: string): string => (word.length > 4 ? word.replace(/(?:ing|ied|ies|ed|es|e|s|y)$/, '') : word)

/** Tasks come before facts, and both before what only proves or records something. */
function weightOf(address: string): number {
  if (/^(?:tutorials|guides)\//.test(address)) return 1.3
  return /^(?:reference|explain)\//.test(address) ? 1 : 0.3
}

/** Finds parts of pages by what people type. */
export class Finder {
  readonly #index = new MiniSearch<Omit<Found, 'excerpt'> & { readonly text: string }>(OPTIONS)

  constructor(known: readonly Known[]) {
    this.#index.addAll(known.map(([title, heading, address, text]) => ({ title, heading, address, text })))
  }

  /** Parts that have the text as it was typed come first: messages of errors are. */
  find(typed: string): readonly Found[] {
    const text = typed.toLowerCase()
    const parts = this.#index.search(typed)
    const literal = parts.filter((part) => text.includes(' ') && String(part['text']).toLowerCase().includes(text))
    const counts = new Map<string, number>()
    const found: Found[] = []
    for (const { id, title, heading, text: of, terms } of new Set([...literal, ...parts])) {
      const count = counts.get(title) ?? 0
      if (count >= OF_A_PAGE_MAX || found.length >= FOUND_MAX) continue
      counts.set(title, count + 1)
      found.push({ title, heading, address: String(id), excerpt: excerptOf(of, terms) })
    }
    return found
  }
}

const EXCERPT_CHARS = 160

function excerptOf(text: string, terms: readonly string[]): string {
  const lower = text.toLowerCase()
  const at = Math.min(...terms.map((term) => lower.indexOf(term)).filter((each) => each >= 0), text.length)
  const from = at === text.length ? 0 : Math.max(0, lower.lastIndexOf(' ', Math.max(0, at - 40)) + 1)
  const part = text.slice(from, from + EXCERPT_CHARS)
  return `${from > 0 ? '… ' : ''}${part}${from + EXCERPT_CHARS < text.length ? ' …' : ''}`
}
