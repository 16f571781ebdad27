import type { Clock } from '../base/clock.ts'
import { Lru } from '../base/lru.ts'
import { literalPrefix } from '../core/access/literalPrefix.ts'
import { compilePattern, stepsOf } from '../core/access/streamName.ts'
import type { Store } from './store.ts'

/** How long the patterns of an account are used, unless a token changes here. */
const FRESH_MS = 1000
/** Their memory is at most about 20 MB. */
const ACCOUNTS_MAX = 20
const PATTERNS_MAX = 5000
/** Patterns that one name is compared with, in about a tenth of a millisecond. */
const MATCHES_MAX = 100
/** Their steps, for patterns that are made to take long: about three milliseconds. */
const STEPS_MAX = 2_000

/** Patterns by the text that they begin with. */
type PatternIndex = ReadonlyMap<string, readonly string[]>

/** Null: the account has too many. */
interface Cached {
  readonly index: Promise<PatternIndex | null>
  readonly untilMs: number
}

/**
 * Which streams only viewers with a token may see once they are on the air. Anyone may ask that about any name, so an answer
 * costs little however many tokens the account has. Where it would cost more, the stream counts as secured.
 */
export class SecuredPatterns {
  readonly #store: Pick<Store, 'read'>
  readonly #clock: Clock
  readonly #accounts = new Lru<string, Cached>(ACCOUNTS_MAX)

  constructor(store: Pick<Store, 'read'>, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Whether a usable publish token whose viewers need tokens covers this name. @throws StoreUnavailable */
  async cover(accountId: string, streamName: string): Promise<boolean> {
    const nowMs = this.#clock.now()
    if (await this.#store.read.tokens.isNameSecured(accountId, nowMs, streamName)) return true
    const index = await this.#indexOf(accountId)
    if (index === null) return true
    const candidates = candidatesIn(index, streamName)
    return candidates.length > MATCHES_MAX || mayMatch(candidates, streamName)
  }

  /** A token was made or changed on this node. */
  forget(): void {
    this.#accounts.clear()
  }

  #indexOf(accountId: string): Cached['index'] {
    const nowMs = this.#clock.monotonic()
    const cached = this.#accounts.get(accountId)
    if (cached !== undefined && nowMs < cached.untilMs) return cached.index
    const index = this.#read(accountId)
    this.#accounts.set(accountId, { index, untilMs: nowMs + FRESH_MS })
    index.catch(() => this.#accounts.delete(accountId))
    return index
  }

  async #read(accountId: string): Cached['index'] {
    const { tokens } = this.#store.read
    const patterns = await tokens.securedPatterns(accountId, this.#clock.now(), PATTERNS_MAX + 1)
    return patterns.length > PATTERNS_MAX ? null : Map.groupBy(new Set(patterns), literalPrefix)
  }
}

/** The patterns that a name may match, at most one more than are compared. */
function candidatesIn(index: PatternIndex, name: string): string[] {
  const found: string[] = []
  for (let length = 0; length <= name.length && found.length <= MATCHES_MAX; length += 1)
    found.push(...(index.get(name.slice(0, length)) ?? []).slice(0, MATCHES_MAX + 1))
  return found
}

/** Also true where it would take too long to say. */
function mayMatch(patterns: readonly string[], name: string): boolean {
  let steps = 0
  return patterns.some((text) => {
    const pattern = compilePattern(text)
    steps += stepsOf(pattern)
    return steps > STEPS_MAX || (pattern.ok && pattern.value.matches(name))
  })
}
