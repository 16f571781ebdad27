import { addAbortListener } from 'node:events'
import { Client, type ClientConfig, type Connection } from 'pg'
import { libraryUrl } from '../../base/postgresUrl.ts'
import type { StopTimeout } from '../stopTimeout.ts'
import { NotOpened, ReadOnlyServer } from './errors.ts'
import type { Hosts } from './hosts.ts'

/** Limits that the server keeps, milliseconds. */
export type ServerLimits = Partial<
  Record<'lock_timeout' | 'statement_timeout' | 'idle_in_transaction_session_timeout', number>
>

export interface ClientSettings
  extends Omit<ClientConfig, keyof ServerLimits | 'connectionString' | 'connectionTimeoutMillis' | 'query_timeout'> {
  readonly hosts: Hosts
  /** The server has so long to open the connection. */
  readonly openingMs: number
  /** The server has so long to answer a query; after that the connection is closed. Absent: as long as it takes. */
  readonly answerMs?: number
  /** Closes the connection when it gives the server up. Absent: nothing does. */
  readonly stopTimeout?: StopTimeout
  readonly limits?: ServerLimits
}

/** How often a wait for the server is looked at. A pause of the process is one look, so it uses up no time of the server. */
const LOOKS = 10

interface Opening {
  readonly isReadOnly: boolean
  readonly pid: number
}

/**
 * A connection to a server that takes writes: a standby is refused. The limits are set by a query, because PgBouncer
 * refuses them as parameters of the start. An error while the connection is idle is reported by its next query.
 */
export class StoreClient extends Client {
  readonly #hosts: Hosts
  readonly #url: string
  readonly #opening: string
  readonly #stopTimeout: StopTimeout | undefined
  readonly #openingMs: number
  /** The server process behind this connection when it was opened. */
  serverPid = 0

  constructor({ hosts, stopTimeout, limits = {}, openingMs, answerMs, ...config }: ClientSettings) {
    const url = hosts.current
    super({ ...config, connectionString: libraryUrl(url), keepAlive: true })
    this.#stopTimeout = stopTimeout
    this.#openingMs = openingMs
    if (stopTimeout) this.#destroyOn(stopTimeout.givenUp)
    this.#hosts = hosts
    this.#url = url
    this.#opening = openingOf(limits)
    this.on('error', () => undefined)
    if (answerMs === undefined) return
    const query = (...given: [string]): Promise<unknown> => this.#answered(super.query(...given), answerMs)
    this.query = query as typeof this.query
  }

  /** A pooler such as PgBouncer stands between: it names another process than the server does. */
  get isPooled(): boolean {
    return 'processID' in this && this.processID !== this.serverPid
  }

  override connect(): Promise<this>
  override connect(done: ((error: Error) => void) | ((error: null, client: Client) => void)): void
  override connect(done?: (error: never, client: Client) => void): Promise<this> | void {
    const opened = this.#open()
    if (done === undefined) return opened
    opened.then(
      () => done(null as never, this),
      (error: unknown) => done(error as never, this),
    )
  }

  async #open(): Promise<this> {
    const over = this.#stopTimeout?.wait()
    const looking = this.#limit(this.#openingMs, new NotOpened('timeout: the connection was not opened in time'))
    try {
      await super.connect()
      await this.#begin()
      over?.(true)
      return this
    } catch (error) {
      over?.(false)
      this.#hosts.failed(this.#url)
      throw error
    } finally {
      clearInterval(looking)
    }
  }

  /** The timer of `query_timeout` of the library would end a wait after a pause of the process, before the answer is read. */
  #answered<T>(answer: Promise<T>, answerMs: number): Promise<T> {
    const looking = this.#limit(answerMs, new Error('timeout: the server gave no answer in time'))
    return answer.finally(() => clearInterval(looking))
  }

  /** Closes the connection when the time of the server is over. */
  #limit(ms: number, why: Error): NodeJS.Timeout {
    let left = LOOKS
    const look = (): void => {
      left -= 1
      if (left === 0) this.#destroy(why)
    }
    return setInterval(look, ms / LOOKS).unref()
  }

  /** What waits for an answer on it fails. `end` would wait for the server. */
  #destroyOn(signal: AbortSignal): void {
    const listening = addAbortListener(signal, () => this.#destroy())
    this.once('end', () => listening[Symbol.dispose]())
  }

  #destroy(error?: Error): void {
    const { connection } = this as unknown as { readonly connection: Connection }
    connection.stream.destroy(error)
  }

  async #begin(): Promise<void> {
    try {
      const { rows } = await this.query<Opening>(this.#opening)
      const [{ isReadOnly, pid } = { isReadOnly: false, pid: 0 }] = rows
      if (isReadOnly) throw new ReadOnlyServer()
      this.serverPid = pid
    } catch (error) {
      void this.end().catch(() => undefined)
      throw error
    }
  }
}

const openingOf = (limits: ServerLimits): string =>
  `select ${[
    ...Object.entries(limits).map(([name, ms]) => `set_config('${name}', '${ms}', false)`),
    `current_setting('transaction_read_only')::bool as "isReadOnly"`,
    'pg_backend_pid() as pid',
  ].join(', ')}`

/** A connection to the host that takes writes. */
export const openClient = (settings: ClientSettings): Promise<StoreClient> =>
  settings.hosts.each(() => new StoreClient(settings).connect())
