import { isoTime } from '../../../base/time.ts'
import type { Clock } from '../../../base/clock.ts'
import { constantTimeEqual } from '../../../base/crypto.ts'
import { err, ok, type Result } from '../../../base/result.ts'
import type { LinkMaker } from '../../../commands/recordings/linkMaker.ts'
import type { LinkTerms } from '../../../commands/recordings/signRecording.ts'
import type { Mac } from '../../../core/pages/cursor.ts'
import type { HttpRefusal } from '../media/refusal.ts'

/** The recording that a link leads to. */
interface LinkedRecording {
  readonly accountId: string
  readonly recordingId: string
}

/** 128 bits: each guess succeeds with a chance of 1 in 2^128. */
const MAC_BYTES = 16
/** Seconds since 1970. */
const EXPIRES = /^\d{10,11}$/
/** The kind, id and time of the maker. */
const BY = /^([su])(\d{1,15})-([0-9a-z]{1,11})$/
const FILE = /^([1-9A-HJ-NP-Za-km-z]{22})\.mp4$/

const INVALID: HttpRefusal = {
  status: 403,
  text: 'Forbidden: this link is not valid; copy all of it, or ask for another',
}

/** What the address of a link says. */
interface LinkParts {
  readonly expires: string
  readonly by: string
}

/**
 * Signs addresses of recordings, for pages and players that have no secret. A signature covers the account, the recording,
 * the end and the maker, so that it is checked before the store is asked.
 */
export class RecordingLinks {
  readonly #mac: Mac
  readonly #clock: Clock

  /** @param mac with a key that is the same on every node of an installation, and for nothing else */
  constructor(mac: Mac, clock: Clock) {
    this.#mac = mac
    this.#clock = clock
  }

  /** The path and query of a link. */
  make(linked: LinkedRecording, { expiresAtMs, maker }: LinkTerms): string {
    const { accountId, recordingId } = linked
    const expires = String(Math.floor(expiresAtMs / 1000))
    const by = `${maker.kind === 'secret' ? 's' : 'u'}${maker.id}-${maker.sinceMs.toString(36)}`
    const signature = this.#sign(linked, { expires, by })
    const path = `/recordings/${encodeURIComponent(accountId)}/${recordingId}.mp4`
    return `${path}?expires=${expires}&by=${by}&signature=${signature}`
  }

  /** The recording of a genuine link that has not ended, and who made it. */
  read(
    { accountId, file }: { readonly accountId: string; readonly file: string },
    { expires, by, signature }: { readonly [name in 'expires' | 'by' | 'signature']?: unknown },
  ): Result<LinkedRecording & { readonly maker: LinkMaker }, HttpRefusal> {
    const [, recordingId] = FILE.exec(file) ?? []
    const maker = typeof by === 'string' ? readMaker(by) : null
    if (recordingId === undefined || typeof expires !== 'string' || !EXPIRES.test(expires)) return err(INVALID)
    if (maker === null || typeof by !== 'string' || typeof signature !== 'string') return err(INVALID)
    const linked = { accountId, recordingId }
    if (!constantTimeEqual(signature, this.#sign(linked, { expires, by }))) return err(INVALID)
    const expiresAtMs = Number(expires) * 1000
    return this.#clock.now() < expiresAtMs ? ok({ ...linked, maker }) : err(ended(expiresAtMs))
  }

  #sign({ accountId, recordingId }: LinkedRecording, { expires, by }: LinkParts): string {
    const mac = this.#mac(Buffer.from(JSON.stringify([accountId, recordingId, expires, by])))
    return Buffer.from(mac).toString('base64url', 0, MAC_BYTES)
  }
}

function readMaker(text: string): LinkMaker | null {
  const [, kind, id = '', since = ''] = BY.exec(text) ?? []
  if (kind === undefined) return null
  return { kind: kind === 's' ? 'secret' : 'user', id: Number(id), sinceMs: Number.parseInt(since, 36) }
}

const ended = (atMs: number): HttpRefusal => ({
  status: 410,
  text: `Gone: this link ended at ${isoTime(atMs)}`,
})
