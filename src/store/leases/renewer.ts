import { setTimeout as sleep } from 'node:timers/promises'
import type { OwnConnection } from './connection.ts'
import type { FromThread, ToThread } from './messages.ts'
import { inOrder, renew } from './renewal.ts'
import type { Lease } from './types.ts'

/** As often, or six times in the length of the shortest lease. */
const EVERY_MS = 2_000
const TIMES_A_LEASE = 6
const AFTER_ERROR_MS = 500

export interface RenewerOptions {
  readonly open: () => Promise<OwnConnection>
  readonly say: (message: FromThread) => void
  /** False: the process that holds the leases does nothing any more, and they are to run out. */
  readonly isHolderAlive: () => boolean
}

/** Renews leases round by round, on a connection that is opened again when it fails. */
export class Renewer {
  readonly #options: RenewerOptions
  readonly #leases = new Map<string, Lease>()
  #isClosing = false
  #waking = new AbortController()
  #connection: OwnConnection | null = null
  #round: Promise<boolean> = Promise.resolve(true)
  #failing: string | null = null

  constructor(options: RenewerOptions) {
    this.#options = options
  }

  hear(message: ToThread): void {
    if (message.do === 'keep') this.#leases.set(message.lease.id, message.lease)
    if (message.do === 'close') this.#isClosing = true
    if (message.do === 'release') void this.#release(message.id)
    else this.#waking.abort()
  }

  /** Until it is closed. */
  async run(): Promise<void> {
    this.#round = this.#renewAll()
    if (await this.#round) this.#options.say({ say: 'ready' })
    while (!this.#isClosing) {
      await this.#pause(await this.#round)
      if (!this.#isClosing && this.#options.isHolderAlive()) this.#round = this.#renewAll()
    }
    await this.#round
    await this.#disconnect()
  }

  /** A renewal that is under way is waited for, and none comes after it. */
  async #release(id: string): Promise<void> {
    this.#leases.delete(id)
    await this.#round
    this.#options.say({ say: 'released', id })
  }

  async #pause(wasRenewed: boolean): Promise<void> {
    const shortest = Math.min(...[...this.#leases.values()].map(({ leaseMs }) => leaseMs))
    const ms = Math.min(wasRenewed ? EVERY_MS : AFTER_ERROR_MS, shortest / TIMES_A_LEASE)
    const { signal } = this.#waking
    await sleep(ms, undefined, { signal }).catch(() => undefined)
    this.#waking = new AbortController()
  }

  async #renewAll(): Promise<boolean> {
    try {
      this.#connection ??= await this.#options.open()
      for (const lease of inOrder(this.#leases.values())) await this.#renewOne(this.#connection, lease)
      this.#tell(null)
      return true
    } catch (error) {
      this.#tell(error instanceof Error ? error.message : String(error))
      await this.#disconnect()
      return false
    }
  }

  async #renewOne({ session }: OwnConnection, lease: Lease): Promise<void> {
    if (!this.#leases.has(lease.id) || (await renew(session, lease))) return
    if (this.#leases.delete(lease.id)) this.#options.say({ say: 'lost', id: lease.id })
  }

  async #disconnect(): Promise<void> {
    const connection = this.#connection
    this.#connection = null
    await connection?.close()
  }

  #tell(reason: string | null): void {
    if (reason === this.#failing) return
    this.#failing = reason
    this.#options.say({ say: 'failing', reason })
  }
}
