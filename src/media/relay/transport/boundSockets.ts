/** Creates and closes sockets. */
export interface Binder<S> {
  readonly bind: (address: string, port: number) => Promise<S>
  readonly portOf: (socket: S) => number
  readonly close: (socket: S) => Promise<void>
}

export interface OnePort<S> {
  readonly addresses: readonly string[]
  readonly sockets: S[]
  readonly port: number
}

/** How long the socket of an address that is gone stays open, and keeps its index. Longer than a session without its peer. */
const GONE_MS = 60_000

/**
 * The sockets of one port, each at an address of this machine. A socket keeps its index (`Endpoint.via`), and no other gets it
 * before all sessions over it have ended: an answer must not leave from another address.
 */
export class BoundSockets<S> {
  /** By `Endpoint.via`; undefined where a socket was closed. */
  readonly sockets: (S | undefined)[]
  readonly port: number
  readonly #binder: Binder<S>
  readonly #listen: (socket: S, via: number, address: string) => void
  readonly #now: () => number
  readonly #vias = new Map<string, number>()
  readonly #goneAtMs = new Map<string, number>()
  #addresses: readonly string[]

  /** `listen` begins to receive at a socket. `now`: monotonic milliseconds. */
  constructor(
    binder: Binder<S>,
    { addresses, sockets, port }: OnePort<S>,
    listen: (socket: S, via: number, address: string) => void,
    now: () => number = () => performance.now(),
  ) {
    this.#binder = binder
    this.#listen = listen
    this.#now = now
    this.#addresses = addresses
    this.sockets = []
    this.port = port
    for (const [at, address] of addresses.entries()) this.#add(address, sockets[at] as S)
  }

  get addresses(): readonly string[] {
    return this.#addresses
  }

  /** See `UdpPort.follow`. One call at a time. */
  async follow(wanted: readonly string[]): Promise<void> {
    const bound: string[] = []
    for (const address of wanted) if (await this.#has(address)) bound.push(address)
    this.#addresses = bound
    for (const address of this.#vias.keys()) {
      if (bound.includes(address)) this.#goneAtMs.delete(address)
      else await this.#gone(address)
    }
  }

  async close(): Promise<void> {
    for (const socket of this.sockets.splice(0)) if (socket !== undefined) await this.#binder.close(socket)
  }

  /** Binds the address if it is new. A new IPv6 address cannot be bound before the network has been asked for doubles. */
  async #has(address: string): Promise<boolean> {
    if (this.#vias.has(address)) return true
    const socket = await this.#binder.bind(address, this.port).catch(() => undefined)
    if (socket !== undefined) this.#add(address, socket)
    return socket !== undefined
  }

  #add(address: string, socket: S): void {
    const free = this.sockets.indexOf(undefined)
    const via = free === -1 ? this.sockets.length : free
    this.sockets[via] = socket
    this.#vias.set(address, via)
    this.#listen(socket, via, address)
  }

  async #gone(address: string): Promise<void> {
    const atMs = this.#goneAtMs.get(address) ?? this.#now()
    this.#goneAtMs.set(address, atMs)
    if (this.#now() - atMs < GONE_MS) return
    const via = this.#vias.get(address) ?? -1
    const socket = this.sockets[via]
    this.#vias.delete(address)
    this.#goneAtMs.delete(address)
    this.sockets[via] = undefined
    if (socket !== undefined) await this.#binder.close(socket)
  }
}
