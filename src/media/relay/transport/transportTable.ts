import type { Endpoint } from './socket.ts'

/** Addresses of one peer that count: it may be reached by several while ICE looks for the best. */
const MAX_ADDRESSES = 16
/** Its user name fragments: the present one, and the one before a restart. */
const MAX_NAMES = 2

/** Whose a datagram is: by the ICE user name of a connectivity check, and from then on by where it comes from. */
export class TransportTable<T extends object> {
  readonly #byName = new Map<string, T>()
  readonly #byAddress = new Map<string, { readonly owner: T; readonly isProved: boolean }>()
  readonly #names = new Map<T, string[]>()
  /** The one that was not checked for longest is the first. */
  readonly #addresses = new Map<T, Map<string, Endpoint>>()
  readonly #released: (at: Endpoint) => void

  /** `released` is called with each address that is no longer its owner's. */
  constructor(released: (at: Endpoint) => void = () => undefined) {
    this.#released = released
  }

  /** Gives `owner` a name; of older ones only the last stays. */
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
   * From here on, what comes from this address is `owner`'s. The address that was not checked for longest gives way. Without
   * a proof it is taken from no peer that gave one: anybody can write the address of another peer into a packet.
   */
  locate(owner: T, from: Endpoint, isProved: boolean): void {
    const key = endpointKeyOf(from)
    const before = this.#byAddress.get(key)
    const isForeign = before !== undefined && before.owner !== owner
    if (isForeign && before.isProved && !isProved) return
    if (before !== undefined) this.#addresses.get(before.owner)?.delete(key)
    const addresses = this.#addresses.get(owner) ?? new Map<string, Endpoint>()
    const [oldest] = addresses
    if (oldest !== undefined && addresses.size >= MAX_ADDRESSES) this.#release(addresses, ...oldest)
    addresses.set(key, from)
    this.#addresses.set(owner, addresses)
    this.#byAddress.set(key, { owner, isProved: isProved || (!isForeign && before?.isProved === true) })
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

/** One word for an address. */
export const endpointKeyOf = ({ address, port, via }: Endpoint): string => `${via} ${address} ${port}`
