import type { Clock } from '../../../base/clock.ts'
import { constantTimeEqual } from '../../../base/crypto.ts'
import { err, ok, type Result } from '../../../base/result.ts'
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
const FILE = /^([1-9A-HJ-NP-Za-km-z]{22})\.mp4$/

const INVALID: HttpRefusal = {
  status: 403,
  text: 'Forbidden: this link is not valid; copy all of it, or ask for another',
}

/**
 * Signs addresses of recordings, for pages and players that have no secret. A signature covers the account, the recording
 * and the end, so that it is checked before the store is asked.
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
  make({ accountId, recordingId }: LinkedRecording, expiresAtMs: number): string {
    const expires = String(Math.floor(expiresAtMs / 1000))
    const signature = this.#sign({ accountId, recordingId }, expires)
    return `/recordings/${encodeURIComponent(accountId)}/${recordingId}.mp4?expires=${expires}&signature=${signature}`
  }

  /** The recording of a genuine link that has not ended. */
  read(
    { accountId, file }: { readonly accountId: string; readonly file: string },
    { expires, signature }: { readonly expires?: unknown; readonly signature?: unknown },
  ): Result<LinkedRecording, HttpRefusal> {
    const [, recordingId] = FILE.exec(file) ?? []
    if (recordingId === undefined || typeof expires !== 'string' || !EXPIRES.test(expires)) return err(INVALID)
    const linked = { accountId, recordingId }
    if (typeof signature !== 'string' || !constantTimeEqual(signature, this.#sign(linked, expires))) return err(INVALID)
    const expiresAtMs = Number(expires) * 1000
    return this.#clock.now() < expiresAtMs ? ok(linked) : err(ended(expiresAtMs))
  }

  #sign({ accountId, recordingId }: LinkedRecording, expires: string): string {
    const mac = this.#mac(Buffer.from(JSON.stringify([accountId, recordingId, expires])))
    return Buffer.from(mac).toString('base64url', 0, MAC_BYTES)
  }
}

const ended = (atMs: number): HttpRefusal => ({
  status: 410,
  text: `Gone: this link ended at ${new Date(atMs).toISOString()}`,
})
