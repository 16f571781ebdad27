import MiniSearch from 'minisearch'
import { englishOf, GERMAN_EMPTY } from './german.ts'

/** A page: title, address below the documents, parts. The first part is at its top. */
export type Known = readonly [title: string, address: string, parts: readonly KnownPart[]]

/** The anchor is there only if it is another one than that of the heading. */
export type KnownPart = readonly [heading: string, text: string, anchor?: string]

/** The anchor of a heading as the usual renderers of Markdown make it, so that links work there and here. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

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
    .concat('will with without you your ', GERMAN_EMPTY)
    .split(' '),
)

/** What people type, or what that is found by, and what the pages say for it. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  '2fa': ['factor'],
  ban: ['deny', 'disable'],
  black: ['connect', 'missing', 'keyframe'],
  block: ['deny', 'limit'],
  bandwidth: ['bytes'],
  buffer: ['gaps', 'stalls'],
  blank: ['connect', 'missing'],
  blurr: ['bitrate', 'loss'],
  billing: ['usage', 'tracking'],
  cdn: ['cache'],
  certificate: ['tls'],
  choppy: ['gaps', 'stalls'],
  cluster: ['nodes'],
  colleague: ['role', 'user'],
  corporate: ['firewall', 'turn'],
  dark: ['colours'],
  delay: ['latency'],
  docker: ['container'],
  downgrade: ['roll', 'back'],
  export: ['csv'],
  factor: ['passkey'],
  failover: ['spare'],
  file: ['disk'],
  firewall: ['ports'],
  forgot: ['lost'],
  fps: ['frame', 'rate'],
  freez: ['gaps', 'stalls'],
  gdpr: ['privacy'],
  geo: ['country', 'countries'],
  geoip: ['countries'],
  https: ['tls'],
  ip: ['address'],
  jwt: ['self-signed'],
  kick: ['end', 'session'],
  lag: ['latency', 'behind'],
  lets: ['acme'],
  letsencrypt: ['acme', 'tls'],
  login: ['password', 'dashboard'],
  handle: ['performance'],
  healthcheck: ['healthz', 'readyz'],
  iframe: ['frame', 'embed'],
  log: ['logs'],
  mac: ['macos'],
  max: ['limit', 'most'],
  mobile: ['iphones', 'safari'],
  multiple: ['several', 'nodes'],
  no: ['missing', 'silent'],
  notified: ['webhook'],
  number: ['many'],
  offline: ['slate'],
  people: ['viewers'],
  phone: ['iphones', 'safari'],
  pixelat: ['bitrate', 'loss'],
  playback: ['watch', 'play'],
  private: ['only', 'secured'],
  protect: ['secured'],
  ram: ['memory'],
  react: ['embed', 'element'],
  redundant: ['spare'],
  remove: ['delete'],
  requirements: ['size'],
  reset: ['lost', 'refresh'],
  retr: ['again', 'attempts'],
  revoke: ['disable', 'delete'],
  schedul: ['scheduler'],
  screen: ['picture', 'video'],
  sdk: ['library'],
  self: ['yourself'],
  sharing: ['bind', 'address'],
  silence: ['silent'],
  sound: ['audio'],
  ssl: ['certificate', 'https', 'tls'],
  statistics: ['analytics'],
  stutter: ['gaps', 'stalls'],
  subtitl: ['captions'],
  supported: ['tried'],
  traffic: ['bytes'],
  transcod: ['engine', 'encode'],
  uninstall: ['remove', 'purge'],
  unique: ['audience'],
  update: ['upgrade'],
  url: ['link', 'address'],
  vod: ['recordings'],
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
  processTerm: termOf,
  searchOptions: {
    boost: { title: 3, heading: 2 },
    boostDocument: (address: unknown): number => weightOf(String(address)),
    prefix: (term: string): boolean => term.length > 2,
    weights: { prefix: 0.4, fuzzy: 0.2 },
  },
}

/** What a word is found by; null: by nothing. */
function termOf(word: string): string | null {
  const lower = word.toLowerCase()
  return EMPTY.has(lower) ? null : stemOf(lower)
}

/** Without the endings that tell "refused" from "refuse", "recordings" from "record", and "countries" from "country". */
const stemOf = (word: string): string =>
  word.length > 4 ? word.replace(/(?:(?<=.{5})ations?|ings?|ied|ies|ed|es|e|s|y)$/, '') : word

/** How many letters of a word may be wrong that no page has. Two that are in each other's place count as two. */
const typosOf = (term: string): number => (term.length > 5 ? 2 : term.length > 3 ? 1 : 0)

/** Tasks come before facts, and both before what only proves or records something. */
function weightOf(address: string): number {
  if (/^(?:tutorials|guides)\//.test(address)) return 1.3
  return /^(?:reference|explain)\//.test(address) ? 1 : 0.3
}

/** Finds parts of pages by what people type. */
export class Finder {
  /** What the words of all pages are found by. */
  readonly #terms = new Set<string>()
  readonly #index: MiniSearch<Omit<Found, 'excerpt'> & { readonly text: string }>

  constructor(known: readonly Known[]) {
    const processTerm = (word: string): string | null => {
      const term = termOf(word)
      if (term !== null) this.#terms.add(term)
      return term
    }
    this.#index = new MiniSearch({ ...OPTIONS, processTerm })
    for (const [title, page, parts] of known)
      for (const [n, [heading, text, anchor = anchorOf(heading)]] of parts.entries())
        this.#index.add({ title, heading, address: n === 0 ? page : `${page}#${anchor}`, text })
  }

  /** By how much of the question they answer, behind two parts that have it as it was typed: messages of errors are. */
  find(typed: string): readonly Found[] {
    const text = typed.toLowerCase()
    const asked = this.#asked(text)
    const queries = asked.map((words) => ({ combineWith: 'OR' as const, queries: [...words] }))
    const parts = this.#index
      .search(
        { combineWith: 'OR', queries },
        { processTerm: termOf, fuzzy: (term) => !this.#terms.has(term) && typosOf(term) },
      )
      .map((part) => Object.assign(part, { score: part.score * shareOf(asked, part.queryTerms) ** 2 }))
      .toSorted((a, b) => b.score - a.score)
    const literal = text.includes(' ') ? literally(parts, text) : []
    const counts = new Map<string, number>()
    const found: Found[] = []
    for (const { id, title, heading, text: of, terms } of new Set([...literal.slice(0, 2), ...parts])) {
      const count = counts.get(title) ?? 0
      if (count >= OF_A_PAGE_MAX || found.length >= FOUND_MAX) continue
      counts.set(title, count + 1)
      found.push({ title, heading, address: String(id), excerpt: excerptOf(of, terms) })
    }
    return found
  }

  /** The words of a question, each with what else may be meant. A word that no page has may be German. */
  #asked(text: string): readonly (readonly string[])[] {
    return (MiniSearch.getDefault('tokenize') as (text: string) => string[])(text).flatMap((word) => {
      const term = word === '' ? null : termOf(word)
      if (term === null) return []
      const words = this.#terms.has(term) ? [word] : [word, ...englishOf(word)]
      return [words.flatMap((one) => [one, ...(ALSO[one] ?? ALSO[termOf(one) ?? ''] ?? [])])]
    })
  }
}

/** The parts of pages for users that have this text, those that repeat it first. */
function literally<P extends Readonly<Record<string, unknown>>>(parts: readonly P[], text: string): readonly P[] {
  const times = (part: P): number => String(part['text']).toLowerCase().split(text).length - 1
  return parts
    .filter((part) => weightOf(String(part['id'])) >= 1 && times(part) > 0)
    .toSorted((a, b) => times(b) - times(a))
}

/** The part of the words that was found. */
function shareOf(asked: readonly (readonly string[])[], found: readonly string[]): number {
  const answered = asked.filter((words) => words.some((word) => found.includes(termOf(word) ?? '')))
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
