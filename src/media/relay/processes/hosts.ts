import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { untilAborted } from '../../../base/clock.ts'
import type { Logger } from '../../../base/log.ts'
import { Failures } from '../../../base/repeat.ts'
import { preferredAddresses } from '../transport/socket.ts'
import type { RelayHosts } from './messages.ts'

export interface HostsOptions {
  /** Address to listen on; '' for all of this machine. */
  readonly host: string
  /** What is announced instead of our own addresses: addresses and host names. */
  readonly publicAddresses: () => readonly string[]
  /** Every address of a host name. */
  readonly resolve: (name: string, signal: AbortSignal) => Promise<readonly string[]>
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
  readonly log: Logger
  /** The addresses of this machine. Absent: those of its interfaces. */
  readonly own?: () => readonly string[]
}

/** Host names are resolved again after this time. */
const RESOLVE_MS = 60_000
const ANSWER_MS = 5_000

interface Resolved {
  readonly atMs: number
  readonly addresses: readonly string[]
  /** It was not resolved the last time. */
  readonly isFailing: boolean
}

/** Follows the addresses of this machine, which DHCP, another network or a VPN may change, and those of host names. */
export class MediaHosts {
  readonly #options: HostsOptions
  readonly #resolved = new Map<string, Resolved>()
  readonly #failures: Failures
  #own: readonly string[]
  #announced: readonly string[] | null = null

  constructor(options: HostsOptions) {
    this.#options = options
    this.#failures = new Failures({ log: options.log, name: 'read the addresses of this machine' })
    this.#own = this.#ownAddresses()
  }

  get current(): RelayHosts {
    return {
      kind: 'hosts',
      listen: this.#options.host === '' ? this.#own : null,
      publicAddresses: this.#announced ?? this.#public(),
    }
  }

  /** Looks at the addresses, and resolves the names whose time has come. Logs what changed. Never rejects. */
  async look(): Promise<void> {
    const { log, publicAddresses } = this.#options
    const [own, before] = [this.#ownNow(), this.#own]
    this.#own = own
    if (isOther(own, before)) log.info({ addresses: own, before }, OWN_CHANGED)
    const names = publicAddresses().filter((value) => isIP(value) === 0)
    for (const name of this.#resolved.keys()) if (!names.includes(name)) this.#resolved.delete(name)
    await Promise.all(names.map((name) => this.#resolve(name)))
    const [announced, announcedBefore] = [this.#public(), this.#announced]
    this.#announced = announced
    if (announcedBefore !== null && isOther(announced, announcedBefore))
      log.info({ addresses: announced, before: announcedBefore }, PUBLIC_CHANGED)
  }

  /** Those of before, where the system does not say: it needs a descriptor to ask. */
  #ownNow(): readonly string[] {
    try {
      const own = this.#ownAddresses()
      this.#failures.none()
      return own
    } catch (error) {
      this.#failures.add(error)
      return this.#own
    }
  }

  #ownAddresses(): readonly string[] {
    return (this.#options.own ?? (() => preferredAddresses(networkInterfaces())))()
  }

  #public(): readonly string[] {
    const values = this.#options.publicAddresses()
    const addresses = values.flatMap((value) => (isIP(value) === 0 ? this.#addressesOf(value) : [value]))
    return [...new Set(addresses)]
  }

  #addressesOf(name: string): readonly string[] {
    return this.#resolved.get(name)?.addresses ?? []
  }

  /** A name that cannot be resolved now keeps its addresses. */
  async #resolve(name: string): Promise<void> {
    const { now, resolve, log } = this.#options
    const known = this.#resolved.get(name)
    if (known !== undefined && now() - known.atMs < RESOLVE_MS) return
    const signal = AbortSignal.timeout(ANSWER_MS)
    try {
      const addresses = (await untilAborted(resolve(name, signal), signal)).toSorted()
      this.#resolved.set(name, { atMs: now(), addresses, isFailing: false })
    } catch (error) {
      if (known?.isFailing !== true)
        log.warn({ name, err: error }, 'a name in webrtc.publicAddresses could not be resolved')
      this.#resolved.set(name, { atMs: now(), addresses: known?.addresses ?? [], isFailing: true })
    }
  }
}

const OWN_CHANGED = 'the addresses of this machine have changed; media is received at the new ones'
const PUBLIC_CHANGED = 'the announced media addresses have changed'

const isOther = (a: readonly string[], b: readonly string[]): boolean => a.join() !== b.join()
