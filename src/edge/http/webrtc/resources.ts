import type { Random } from '../../../base/random.ts'

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

/** The resources of this node's sessions. The engine bounds the number of sessions. */
export class Resources {
  readonly #byId = new Map<string, SignalingResource>()
  readonly #bySession = new Map<string, SignalingResource>()
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

  /** Removes the resource of an ended session. */
  forget(sessionId: string): void {
    const resource = this.#bySession.get(sessionId)
    if (resource === undefined) return
    this.#bySession.delete(sessionId)
    this.#byId.delete(resource.id)
  }
}

/** An entity-tag as it is sent (RFC 9110 section 8.8.3). */
export const quotedTag = (tag: string): string => (/^"[^"]*"$/.test(tag) ? tag : `"${tag.replaceAll('"', '')}"`)
