import { halfway } from './numbers.ts'
import { SetIndex } from './setIndex.ts'

/** The most at a time. */
export interface CrowdLimits {
  readonly ofAddress: number
  readonly ofAll: number
}

/**
 * Things by the address that each comes from, such as connections: all of them, those of one address, and those of the network
 * around it, the oldest first. A client with many IPv6 addresses has them all in one network.
 */
export class ByAddress<T> implements Iterable<T> {
  readonly #networkOf: (address: string) => string | null
  readonly #addresses = new Map<T, string>()
  readonly #peers = new SetIndex<string, T>()
  readonly #neighbours = new SetIndex<string, T>()

  /** @param networkOf the network around an address; null: the address stands for itself */
  constructor(networkOf: (address: string) => string | null) {
    this.#networkOf = networkOf
  }

  get size(): number {
    return this.#addresses.size
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#addresses.keys()
  }

  of(address: string): ReadonlySet<T> {
    return this.#peers.get(address)
  }

  /** Those of the network around the address, too; none: it stands for itself. */
  around(address: string): ReadonlySet<T> {
    const network = this.#networkOf(address)
    return network === null ? NONE : this.#neighbours.get(network)
  }

  /** Those of which one has to go for one more of this address; null: there is room. A network may have half of what others leave. */
  crowdFor(address: string, { ofAddress, ofAll }: CrowdLimits): Iterable<T> | null {
    const [peers, neighbours] = [this.of(address), this.around(address)]
    if (peers.size >= ofAddress) return peers
    if (neighbours.size >= halfway(ofAddress, ofAll)) return neighbours
    return this.size >= ofAll ? this : null
  }

  add(one: T, address: string): void {
    this.#addresses.set(one, address)
    this.#peers.add(address, one)
    const network = this.#networkOf(address)
    if (network !== null) this.#neighbours.add(network, one)
  }

  delete(one: T): void {
    const address = this.#addresses.get(one)
    if (address === undefined) return
    this.#addresses.delete(one)
    this.#peers.remove(address, one)
    const network = this.#networkOf(address)
    if (network !== null) this.#neighbours.remove(network, one)
  }
}

const NONE: ReadonlySet<never> = new Set()
