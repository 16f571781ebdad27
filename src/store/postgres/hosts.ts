import { postgresHosts } from '../../base/postgresUrl.ts'
import { ReadOnlyServer } from './errors.ts'

/** The hosts of a URL. Connections are opened to the current one; the next takes its place when it fails or is read-only. */
export class Hosts {
  readonly #urls: readonly [string, ...string[]]
  #index = 0

  constructor(url: string) {
    this.#urls = postgresHosts(url)
  }

  /** The URL of the current host. */
  get current(): string {
    return this.#urls[this.#index] ?? this.#urls[0]
  }

  /** No connection that takes writes could be opened to this URL. */
  failed(url: string): void {
    if (url === this.current) this.#index = (this.#index + 1) % this.#urls.length
  }

  /**
   * Calls `open` until it succeeds, once for each host at most. It goes on only where the failure was that of a host.
   * Of several errors it throws the first, or that of a host that would take writes: a standby refuses at all times.
   */
  async each<T>(open: () => Promise<T>): Promise<T> {
    let told: unknown
    for (let left = this.#urls.length; ; left -= 1) {
      const tried = this.current
      try {
        return await open()
      } catch (error) {
        if (told === undefined || told instanceof ReadOnlyServer) told = error
        if (left === 1 || tried === this.current) throw told
      }
    }
  }
}
