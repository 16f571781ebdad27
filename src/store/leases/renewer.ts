import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../base/errorCode.ts'
import { type Random, systemRandom } from '../../base/random.ts'
import type { OwnConnection } from './connection.ts'
import type { FromRenewer, ToRenewer } from './messages.ts'
import type { Renewal } from './renewal.ts'

/** Renews this often, or six times within the shortest lease. */
const EVERY_MS = 2_000
const TIMES_A_LEASE = 6
const AFTER_ERROR_MS = 500
/** A round comes earlier by up to this part, so that nodes that started together do not renew together. */
const JITTER = 0.1

export interface RenewerOptions {
  readonly open: () => Promise<OwnConnection>
  readonly say: (message: FromRenewer) => void
  /** False: the process that holds the leases is stuck, so they must expire. */
  readonly isHolderAlive: () => boolean
  readonly random?: Random
}

/** Renews all leases in rounds, on a connection that it reopens after a failure. */
export class Renewer {
  readonly #options: RenewerOptions
  readonly #renewals = new Map<string, Renewal>()
  #isClosing = false
  #waking = new AbortController()
  #connection: OwnConnection | null = null
  #round: Promise<boolean> = Promise.resolve(true)
  #failing: string | null = null
  #isReady = false
  /** Rounds before the first that succeeded. */
  #failed = 0

  constructor(options: RenewerOptions) {
    this.#options = options
  }

  hear(message: ToRenewer): void {
    if (message.do === 'keep') this.#renewals.set(message.renewal.id, message.renewal)
    if (message.do === 'close') this.#isClosing = true
    if (message.do === 'release') void this.#release(message.id)
    else this.#waking.abort()
  }

  /** Renews until it is closed. */
  async run(): Promise<void> {
    this.#round = this.#renewAll()
    while (!this.#isClosing) {
      await this.#pause(await this.#round)
      if (!this.#isClosing && this.#options.isHolderAlive()) this.#round = this.#renewAll()
    }
    await this.#round
    await this.#disconnect()
  }

  /** Waits for a renewal that is under way; none comes after it. */
  async #release(id: string): Promise<void> {
    this.#renewals.delete(id)
    await this.#round
    this.#options.say({ say: 'released', id })
  }

  async #pause(wasRenewed: boolean): Promise<void> {
    const shortest = Math.min(...[...this.#renewals.values()].map(({ leaseMs }) => leaseMs))
    const mostMs = Math.min(wasRenewed ? EVERY_MS : AFTER_ERROR_MS, shortest / TIMES_A_LEASE)
    const { random = systemRandom } = this.#options
    const ms = mostMs * (1 - (JITTER * random.bytes(1).readUInt8()) / 0xff)
    const { signal } = this.#waking
    await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
    this.#waking = new AbortController()
  }

  async #renewAll(): Promise<boolean> {
    try {
      this.#connection ??= await this.#options.open()
      const renewals = [...this.#renewals.values()].toSorted((a, b) => a.rank - b.rank)
      const ids: string[] = []
      for (const renewal of renewals) if (await this.#renewOne(this.#connection, renewal)) ids.push(renewal.id)
      this.#reportFailing(null)
      if (ids.length > 0) this.#options.say({ say: 'renewed', ids })
      if (!this.#isReady) this.#options.say({ say: 'ready' })
      this.#isReady = true
      return true
    } catch (error) {
      this.#reportFailing(errorText(error))
      this.#failed += this.#isReady ? 0 : 1
      if (this.#failed === TIMES_A_LEASE) this.#options.say({ say: 'neverReady', reason: errorText(error) })
      await this.#disconnect()
      return false
    }
  }

  /** False: the holder is gone, or was released meanwhile. */
  async #renewOne(connection: OwnConnection, { id, statements, endsWithHolder }: Renewal): Promise<boolean> {
    for (const statement of statements) {
      if (!this.#renewals.has(id)) return false
      const found = await connection.run(statement)
      if (found === 0 && endsWithHolder && this.#renewals.delete(id)) this.#options.say({ say: 'lost', id })
      // The next statement is about what the first has renewed.
      if (found === 0) return false
    }
    return true
  }

  async #disconnect(): Promise<void> {
    const connection = this.#connection
    this.#connection = null
    await connection?.close()
  }

  #reportFailing(reason: string | null): void {
    if (reason === this.#failing) return
    this.#failing = reason
    this.#options.say({ say: 'failing', reason })
  }
}
