import type { Environment } from './environment.ts'

/** Longer than the packets of a stream are apart. */
const SILENT_MS = 900
/** The viewers of a publisher that stalls ask within this time. It doubles with each question, up to a bound. */
const FIRST_SPREAD_MS = 500
const MOST_SPREAD_MS = 8000
/** After this time without a question the next one is the first again. */
const CALM_MS = 60_000

/**
 * Notices when nothing more comes from the server, and asks once in each such silence whether the session is still there. A browser
 * takes five seconds to see that its peer is gone; the server knows at once.
 */
export class Silence {
  readonly #env: Environment
  readonly #ask: () => void
  #bytes = 0
  #lookedAtMs = 0
  #heardAtMs = 0
  #spreadMs = 0
  #askedAtMs = Number.NEGATIVE_INFINITY
  /** Set from the begin of a silence to its end. */
  #cancel: (() => void) | null = null

  constructor(env: Environment, ask: () => void) {
    this.#env = env
    this.#ask = ask
  }

  /** When something came for the last time, at the earliest: a look that comes after a sleep sees what came before it. */
  get heardAtMs(): number {
    return this.#heardAtMs
  }

  get isSilent(): boolean {
    return this.#cancel !== null
  }

  /** A connection begins. */
  begin(): void {
    this.#bytes = 0
    this.#lookedAtMs = this.#env.now()
    this.#heard()
  }

  /** Call it about twice a second. @param bytes received since the begin of the connection. A browser that counts none is never silent */
  look(bytes: number): void {
    if (bytes === 0 || bytes !== this.#bytes) this.#heard()
    else if (this.#env.now() - this.#heardAtMs > SILENT_MS)
      this.#cancel ??= this.#env.later(() => this.#due(), this.#spread() * this.#env.random())
    this.#bytes = bytes
    this.#lookedAtMs = this.#env.now()
  }

  #heard(): void {
    this.#heardAtMs = this.#lookedAtMs
    this.#cancel?.()
    this.#cancel = null
  }

  #spread(): number {
    const isCalm = this.#env.now() - this.#askedAtMs > CALM_MS
    return (this.#spreadMs = isCalm ? FIRST_SPREAD_MS : Math.min(MOST_SPREAD_MS, 2 * this.#spreadMs))
  }

  #due(): void {
    this.#askedAtMs = this.#env.now()
    this.#ask()
  }
}
