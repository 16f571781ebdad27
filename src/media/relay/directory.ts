import type { Endpoint } from './socket.ts'

/** Addresses of one peer that count: it may be reached by several while ICE looks for the best. */
const MAX_ADDRESSES = 8
/** Its user name fragments: the present one, and the one before a restart. */
const MAX_NAMES = 2

/** Whose a datagram is: by the ICE user name of a connectivity check, and from then on by where it comes from. */
export class Directory<T extends object> {
  readonly #byName = new Map<string, T>()
  readonly #byAddress = new Map<string, T>()
  readonly #names = new Map<T, string[]>()
  readonly #addresses = new Map<T, Set<string>>()

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

  /** From here on, what comes from this address is `owner`'s. The address that was not checked for longest gives way. */
  locate(owner: T, from: Endpoint): void {
    const key = keyOf(from)
    const before = this.#byAddress.get(key)
    if (before !== undefined) this.#addresses.get(before)?.delete(key)
    const addresses = this.#addresses.get(owner) ?? new Set()
    const [oldest = ''] = addresses
    if (addresses.size >= MAX_ADDRESSES) {
      addresses.delete(oldest)
      this.#byAddress.delete(oldest)
    }
    addresses.add(key)
    this.#addresses.set(owner, addresses)
    this.#byAddress.set(key, owner)
  }

  at(from: Endpoint): T | undefined {
    return this.#byAddress.get(keyOf(from))
  }

  remove(owner: T): void {
    for (const name of this.#names.get(owner) ?? []) this.#byName.delete(name)
    for (const key of this.#addresses.get(owner) ?? []) this.#byAddress.delete(key)
    this.#names.delete(owner)
    this.#addresses.delete(owner)
  }
}

const keyOf = ({ address, port, via }: Endpoint): string => `${via} ${address} ${port}`
