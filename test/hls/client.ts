import type { Clock } from '../../src/base/clock.ts'
import type { Answer, Kind } from './answers.ts'

/** A page of another origin, as most players are on. */
const ORIGIN = 'https://player.example'
/** Longer than any blocking request may take. */
const ANSWER_MAX_MS = 30_000
const RETRY_MS = 100

export interface ClientOptions {
  /** How long a server may be away before that counts: it says so (503), has no connection, and then no publisher. */
  readonly outageMs: number
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** Requests what a player requests. */
export class Client {
  readonly #options: ClientOptions
  #outages = 0
  /** Since when, and until when at the latest, the server is away; null: it is there. */
  #away: { readonly untilMs: number } | null = null

  constructor(options: ClientOptions) {
    this.#options = options
  }

  get isOver(): boolean {
    return this.#options.signal.aborted
  }

  get #nowMs(): number {
    return this.#options.clock.monotonic()
  }

  /** How often the server was away so far. Media that was named before may be gone after that. */
  get outages(): number {
    return this.#outages
  }

  /** The answer, whatever its status; null: there was no connection for longer than an outage, or the watch is over. */
  async get(kind: Kind, url: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer | null> {
    while (!this.isOver) {
      const answer = await this.#once(kind, url, headers)
      if (answer === null || answer.status === 503) this.#isAway()
      const isBack = answer !== null && (answer.status < 400 || kind === 'media')
      if (isBack && kind !== 'media') this.#away = null
      if (isBack || this.#away === null || this.#nowMs > this.#away.untilMs) return answer
      await this.sleep(RETRY_MS)
    }
    return null
  }

  #isAway(): void {
    if (this.#away !== null || this.isOver) return
    this.#away = { untilMs: this.#nowMs + this.#options.outageMs }
    if (this.#options.outageMs > 0) this.#outages += 1
  }

  async #once(kind: Kind, url: string, headers: Readonly<Record<string, string>>): Promise<Answer | null> {
    const { clock, signal } = this.#options
    const over = new AbortController()
    const late = AbortSignal.any([signal, over.signal])
    clock.sleep(ANSWER_MAX_MS, late).then(
      () => over.abort(),
      () => undefined,
    )
    try {
      const asked = { Origin: ORIGIN, 'Accept-Encoding': 'gzip', ...headers }
      const response = await fetch(url, { headers: asked, signal: late })
      const body = Buffer.from(await response.arrayBuffer())
      return { kind, url: response.url, status: response.status, headers: new Map(response.headers), body }
    } catch {
      return null
    } finally {
      over.abort()
    }
  }

  /** Ends early when the watch is over. */
  async sleep(ms: number): Promise<void> {
    const { clock, signal } = this.#options
    await clock.sleep(ms, signal).catch(() => undefined)
  }
}

/** `url` with these parameters set. */
export function withQuery(url: string, parameters: Readonly<Record<string, string | number>>): string {
  const asked = new URL(url)
  for (const [name, value] of Object.entries(parameters)) asked.searchParams.set(name, String(value))
  return asked.href
}
