import { SetIndex } from './setIndex.ts'

/** Things by the address that each comes from, such as connections: all of them and those of one address, the oldest first. */
export class ByAddress<T> implements Iterable<T> {
  readonly #addresses = new Map<T, string>()
  readonly #peers = new SetIndex<string, T>()

  get size(): number {
    return this.#addresses.size
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#addresses.keys()
  }

  of(address: string): ReadonlySet<T> {
    return this.#peers.get(address)
  }

  add(one: T, address: string): void {
    this.#addresses.set(one, address)
    this.#peers.add(address, one)
  }

  delete(one: T): void {
    const address = this.#addresses.get(one)
    if (address === undefined) return
    this.#addresses.delete(one)
    this.#peers.remove(address, one)
  }
}
