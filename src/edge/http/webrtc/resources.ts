import type { Random } from '../../../base/random.ts'
import { type HttpRefusal, UNKNOWN } from '../media/refusal.ts'

/** What `Location` names: one session, as its own client sees it. */
export interface SignalingResource {
  /** 32 random bytes. Anyone with this id may end the session, so only the session's client gets it. */
  readonly id: string
  readonly sessionId: string
  /** The current entity-tag, quotes included. Changes with every ICE restart. */
  etag: string
  /** PATCHes under way. */
  patching: number
}

const ID_BYTES = 32
/** Resources of sessions that are over, whose clients may still send a last report, or their DELETE. */
const ENDED_MAX = 10_000
/** Nothing in the media connection says why the server ended it. Clients that ask for their resource, or delete it, learn it here. */
const MOVED: HttpRefusal = { status: 410, text: 'Gone: another server takes this session. Connect again' }
/** Sessions that were moved, whose clients still get the reason. Each takes some hundred bytes. */
const MOVED_MAX = 20_000

/** The resources of this node's sessions. The engine bounds the number of sessions. */
export class Resources {
  readonly #byId = new Map<string, SignalingResource>()
  readonly #bySession = new Map<string, SignalingResource>()
  /** Sessions by the id of the resource, the oldest first. */
  readonly #ended = new Map<string, string>()
  /** Sessions among them whose client is gone, and has not sent its DELETE. */
  readonly #deletable = new Set<string>()
  /** Ids of resources; the oldest first. */
  readonly #moved = new Set<string>()
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  open(sessionId: string): SignalingResource {
    const id = this.#random.bytes(ID_BYTES).toString('base64url')
    const resource = { id, sessionId, etag: '', patching: 0 }
    this.#byId.set(id, resource)
    this.#bySession.set(sessionId, resource)
    return resource
  }

  find(id: string): SignalingResource | undefined {
    return this.#byId.get(id)
  }

  /** The session of a resource, also of one that is over. Null: there never was one, or it was long ago. */
  sessionOf(id: string): string | null {
    return this.#byId.get(id)?.sessionId ?? this.#ended.get(id) ?? null
  }

  /**
   * Removes a resource, as its client asks. Null: there is none. Clients such as OBS close their connection first, which ends their
   * session. Returns the session.
   */
  delete(id: string): string | null {
    const present = this.#byId.get(id)
    if (present !== undefined) this.forget(present.sessionId)
    const ended = this.#ended.get(id)
    if (ended === undefined || (!this.#deletable.delete(ended) && present === undefined)) return null
    return ended
  }

  /** Whether the client of this session is gone, and may still send its DELETE. */
  mayDelete(sessionId: string): boolean {
    return this.#deletable.has(sessionId)
  }

  /** The session ends because this node drains. */
  move(sessionId: string): void {
    const resource = this.#bySession.get(sessionId)
    if (resource === undefined) return
    const [oldest] = this.#moved
    if (this.#moved.size >= MOVED_MAX && oldest !== undefined) this.#moved.delete(oldest)
    this.#moved.add(resource.id)
    this.forget(sessionId)
  }

  /** The answer about a resource that is not there. */
  goneAs(id: string): HttpRefusal {
    return this.#moved.has(id) ? MOVED : UNKNOWN
  }

  /** Removes the resource of an ended session. @param isDeletable its client is gone, and may still send its DELETE */
  forget(sessionId: string, isDeletable = false): void {
    const resource = this.#bySession.get(sessionId)
    if (resource === undefined) return
    this.#bySession.delete(sessionId)
    this.#byId.delete(resource.id)
    this.#ended.set(resource.id, sessionId)
    if (isDeletable) this.#deletable.add(sessionId)
    const [oldest] = this.#ended
    if (this.#ended.size <= ENDED_MAX || oldest === undefined) return
    this.#ended.delete(oldest[0])
    this.#deletable.delete(oldest[1])
  }
}

/** An entity-tag as it is sent (RFC 9110 section 8.8.3). */
export const quotedTag = (tag: string): string => (/^"[^"]*"$/.test(tag) ? tag : `"${tag.replaceAll('"', '')}"`)
