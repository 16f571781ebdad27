import { timeOrderedId } from '../base/ids.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { err, type Result } from '../base/result.ts'
import type { Mac } from '../core/page/cursor.ts'
import { invalid, type Failure } from '../core/errors.ts'
import { readAccessLogQuery } from '../core/access/logQuery.ts'
import { StoreUnavailable, type AccessLogRow, type Store } from '../store/store.ts'
import type { Context } from './context.ts'
import { type KeysetPage, newestAfter, shownPage, walk } from './keysetPage.ts'

export interface RecorderOptions {
  store: Store
  clock: Clock
  random: Random
  log: Logger
  /** 0 to 1: the share of decisions of each kind that is kept. */
  refusalRate: number
  admissionRate: number
  /**
   * Most rows waiting to be written; more are dropped and counted, so that a flood of refusals cannot take the memory.
   */
  bufferRows: number
}

const BATCH = 500

/** Keeps decisions for `GET /api/access/log`. Recording never delays or changes a decision. */
export class AccessRecorder {
  readonly #options: RecorderOptions
  #waiting: AccessLogRow[] = []
  #flushing: Promise<void> | null = null
  dropped = 0

  constructor(options: RecorderOptions) {
    this.#options = options
  }

  /** Is this decision to be noted? Draws lots where a share of its kind is kept. */
  wants(allowed: boolean): boolean {
    const { admissionRate, refusalRate, random } = this.#options
    const rate = allowed ? admissionRate : refusalRate
    if (rate >= 1) return true
    return rate > 0 && random.bytes(4).readUInt32BE() / 0x1_0000_0000 < rate
  }

  /** Notes one decision that is wanted. Synchronous and cheap. */
  note(row: Omit<AccessLogRow, 'id' | 'atMs'>): void {
    const { bufferRows, clock, random } = this.#options
    if (this.#waiting.length >= bufferRows) {
      this.dropped++
      return
    }
    const atMs = clock.now()
    this.#waiting.push({ ...row, id: timeOrderedId(atMs, random), atMs })
  }

  /** Writes what waits. What cannot be written now stays, within the bound, and is written later. */
  flush(): Promise<void> {
    this.#flushing ??= this.#write().finally(() => {
      this.#flushing = null
    })
    return this.#flushing
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, BATCH)
      try {
        await this.#options.store.transaction((tx) => tx.accessLog.append(batch))
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        this.#options.log.warn({ waiting: this.#waiting.length }, 'the access log cannot be written now')
        return
      }
      this.#waiting = this.#waiting.slice(batch.length)
    }
  }
}

export type AccessLogPage = KeysetPage<ReturnType<typeof toEntry>>

/** One page of recorded decisions, newest first. */
export async function listAccessLog(
  ctx: Context,
  mac: Mac,
  accountId: string,
  query: Record<string, unknown>,
): Promise<Result<AccessLogPage, Failure>> {
  const read = readAccessLogQuery(query)
  if (!read.ok) return err(invalid(read.error))
  const { cursor, limit, ...filter } = read.value
  const page = await walk(mac, {
    scope: { list: 'access_log', filters: { accountId, ...filter } },
    limit,
    cursor,
    keyOf: (row: AccessLogRow) => [row.atMs, row.id],
    read: async (position, most) => {
      await ctx.recorder.flush()
      return ctx.store.read.accessLog.page({ accountId, ...filter, limit: most, ...newestAfter(position) })
    },
  })
  return shownPage(page, toEntry)
}

/** A row as the interface shows it; what is not known is left out. */
function toEntry(row: AccessLogRow) {
  return {
    id: row.id,
    at: new Date(row.atMs).toISOString(),
    source: row.source,
    action: row.action,
    protocol: row.protocol,
    streamName: row.streamName,
    ...(row.tokenId === null ? {} : { tokenId: row.tokenId }),
    ...(row.jti === null ? {} : { jti: row.jti }),
    address: row.address,
    ...(row.origin === null ? {} : { origin: row.origin }),
    ...(row.country === null ? {} : { country: row.country }),
    allowed: row.allowed,
    ...(row.code === null ? {} : { code: row.code }),
    message: row.message,
  }
}
