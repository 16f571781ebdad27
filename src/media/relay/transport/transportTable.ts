import type { Endpoint } from './socket.ts'
import { isTcp } from './tcp.ts'

/** Addresses of one transport: a peer is reached by several while ICE looks for the best pair. */
const MAX_ADDRESSES = 16
/** Of these over TCP, each a connection: the port has few for all transports. We announce no more addresses. */
const MAX_TCP = 8
/** User name fragments of one transport: the current one, and the one before a restart. */
const MAX_NAMES = 2

/** Which transport a datagram belongs to: by the ICE user name of a connectivity check, and then by its source address. */
export class TransportTable<T extends object> {
  readonly #byName = new Map<string, T>()
  readonly #byAddress = new Map<string, { readonly owner: T; readonly isProved: boolean }>()
  readonly #names = new Map<T, string[]>()
  /** The least recently checked address comes first. */
  readonly #addresses = new Map<T, Map<string, Endpoint>>()
  readonly #released: (at: Endpoint) => void

  /** `released` is called with each address that is no longer its owner's. */
  constructor(released: (at: Endpoint) => void = () => undefined) {
    this.#released = released
  }

  /** Gives `owner` a name. Of its older names only the last stays. */
  name(owner: T, ufrag: string): void {
    const names = [ufrag, ...(this.#names.get(owner) ?? [])]
    for (const old of names.splice(MAX_NAMES)) this.#byName.delete(old)
    this.#names.set(owner, names)
    this.#byName.set(ufrag, owner)
  }

  named(ufrag: string): T | undefined {
    return this.#byName.get(ufrag)
  }

  /**
   * From now on datagrams from this address belong to `owner`. Its least recently checked address is dropped when it has too
   * many, or too many over TCP. An unproved claim takes no address from an owner that proved it: any peer can forge a source address.
   */
  locate(owner: T, from: Endpoint, isProved: boolean): void {
    const key = endpointKeyOf(from)
    const before = this.#byAddress.get(key)
    const isForeign = before !== undefined && before.owner !== owner
    if (isForeign && before.isProved && !isProved) return
    if (before !== undefined) this.#addresses.get(before.owner)?.delete(key)
    const addresses = this.#addresses.get(owner) ?? new Map<string, Endpoint>()
    const tcp = isTcp(from) ? [...addresses].filter(([, at]) => isTcp(at)) : []
    const [oldest] = tcp.length >= MAX_TCP ? tcp : addresses.size >= MAX_ADDRESSES ? addresses : []
    if (oldest !== undefined) this.#release(addresses, ...oldest)
    addresses.set(key, from)
    this.#addresses.set(owner, addresses)
    this.#byAddress.set(key, { owner, isProved: isProved || (!isForeign && before?.isProved === true) })
  }

  /** Every owner, in the order of their first names. */
  all(): Iterable<T> {
    return this.#names.keys()
  }

  at(from: Endpoint): T | undefined {
    return this.#byAddress.get(endpointKeyOf(from))?.owner
  }

  remove(owner: T): void {
    for (const name of this.#names.get(owner) ?? []) this.#byName.delete(name)
    const addresses = this.#addresses.get(owner)
    if (addresses !== undefined) for (const one of addresses) this.#release(addresses, ...one)
    this.#names.delete(owner)
    this.#addresses.delete(owner)
  }

  #release(addresses: Map<string, Endpoint>, key: string, at: Endpoint): void {
    addresses.delete(key)
    this.#byAddress.delete(key)
    this.#released(at)
  }
}

/** An address as the key of a map. */
export const endpointKeyOf = ({ address, port, via }: Endpoint): string => `${via} ${address} ${port}`
