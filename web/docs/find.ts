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
  'a an and another are as at be by can could do does during everything for from get happens have how i if in instead is it '
    .concat(
      'me my of on or our same see should someone the their there this to too up we what when where which who why ',
    )
    .concat('will with without you your')
    .split(' '),
)

/** What people type, and what the pages say for it. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  ban: ['deny', 'disable'],
  black: ['connect', 'missing', 'keyframe'],
  block: ['deny', 'limit'],
  bandwidth: ['bytes'],
  blank: ['connect', 'missing'],
  billing: ['usage', 'tracking'],
  cdn: ['cache'],
  choppy: ['gaps', 'stalls'],
  cluster: ['nodes'],
  colleague: ['role', 'user'],
  corporate: ['firewall', 'turn'],
  delay: ['latency'],
  docker: ['container'],
  export: ['csv'],
  file: ['disk'],
  firewall: ['ports'],
  forgot: ['lost'],
  gdpr: ['privacy'],
  geo: ['country', 'countries'],
  geoip: ['countries'],
  https: ['tls'],
  ip: ['address'],
  jwt: ['self-signed'],
  kick: ['end', 'session'],
  lag: ['latency', 'behind'],
  login: ['sign'],
  handle: ['performance'],
  log: ['logs'],
  max: ['limit', 'most'],
  mobile: ['iphones', 'safari'],
  multiple: ['several', 'nodes'],
  notified: ['webhook'],
  people: ['viewers'],
  phone: ['iphones', 'safari'],
  private: ['only', 'secured'],
  reset: ['lost'],
  revoke: ['disable', 'delete'],
  screen: ['picture', 'video'],
  self: ['yourself'],
  sharing: ['bind', 'address'],
  silence: ['silent'],
  sound: ['audio'],
  ssl: ['certificate', 'https', 'tls'],
  stutter: ['gaps', 'stalls'],
  supported: ['tried'],
  traffic: ['bytes'],
  update: ['upgrade'],
  url: ['link', 'address'],
  site: ['page', 'embed'],
  usage: ['bytes'],
  watched: ['audience'],
  watching: ['viewers', 'sessions'],
  website: ['page', 'embed'],
  wordpress: ['embed', 'page'],
}

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

  /** Parts that have the text as it was typed come first: messages of errors are. The others come by how much of the question they answer. */
  find(typed: string): readonly Found[] {
    const text = typed.toLowerCase()
    const asked = askedWords(text)
    const parts = this.#index
      .search({ combineWith: 'OR', queries: asked.map((queries) => ({ combineWith: 'OR', queries: [...queries] })) })
      .map((part) => Object.assign(part, { score: part.score * shareOf(asked, part.queryTerms) ** 2 }))
      .toSorted((a, b) => b.score - a.score)
    const literal = text.includes(' ') ? literally(parts, text) : []
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

/** The parts of pages for users that have this text, those that repeat it first. */
function literally<P extends Readonly<Record<string, unknown>>>(parts: readonly P[], text: string): readonly P[] {
  const times = (part: P): number => String(part['text']).toLowerCase().split(text).length - 1
  return parts
    .filter((part) => weightOf(String(part['id'])) >= 1 && times(part) > 0)
    .toSorted((a, b) => times(b) - times(a))
}

/** The words of a question, each with what else may be meant. */
const askedWords = (text: string): readonly (readonly string[])[] =>
  (MiniSearch.getDefault('tokenize') as (text: string) => string[])(text)
    .filter((word) => word !== '' && OPTIONS.processTerm(word) !== null)
    .map((word) => [word, ...(ALSO[word] ?? [])])

/** The part of the words that was found. */
function shareOf(asked: readonly (readonly string[])[], found: readonly string[]): number {
  const answered = asked.filter((words) => words.some((word) => found.includes(OPTIONS.processTerm(word) ?? '')))
  return answered.length / asked.length
}

const EXCERPT_CHARS = 160

function excerptOf(text: string, terms: readonly string[]): string {
  const lower = text.toLowerCase()
  const at = Math.min(...terms.map((term) => lower.indexOf(term)).filter((each) => each >= 0), text.length)
  const from = at === text.length ? 0 : Math.max(0, lower.lastIndexOf(' ', Math.max(0, at - 40)) + 1)
  const part = text.slice(from, from + EXCERPT_CHARS)
  return `${from > 0 ? '… ' : ''}${part}${from + EXCERPT_CHARS < text.length ? ' …' : ''}`
}
