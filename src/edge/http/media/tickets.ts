import type { KeyObject } from 'node:crypto'
import type { Clock } from '../../../base/clock.ts'
import { constantTimeEqual, hmacSha256 } from '../../../base/crypto.ts'
import { readGrant, writeGrant } from '../../../core/channels/grantText.ts'
import type { Grant } from '../../../core/channels/playback.ts'
import { SIGNED_FOR_NODE_MS } from '../../../core/nodes/linkRequest.ts'

/** What a ticket says: this session may read this stream. */
export interface SessionTicket {
  readonly kind: 'session'
  readonly sessionId: string
  /** The stream whose playlists and media it opens, as their addresses name it. */
  readonly stream: string
  /** The token that admitted the session, or its parent if it is self-signed. Null: the stream needs no token. */
  readonly tokenId: number | null
  /** The viewer's request in sealed form, for nodes that do not know the session; base64url, may be empty. */
  readonly request: string
}

/** What the ticket of a distribution's viewer says. */
export interface GrantTicket {
  readonly kind: 'grant'
  /** One master playlist: a player, or several that share it. */
  readonly viewerId: string
  /** The distribution. */
  readonly stream: string
  /** What the viewer's token allows. */
  readonly grant: Grant
}

export type TicketFacts = SessionTicket | GrantTicket

/** What a node reads of a stream of another one. */
export interface StreamFile {
  readonly stream: string
  /** The last parts of its path, and what else chooses it. */
  readonly name: string
}

/** 128 bits: each guess succeeds with a chance of 1 in 2^128. */
const MAC_BYTES = 16
/** The number of cached tickets; each takes a few hundred bytes, with a self-signed token a kilobyte. */
const CACHED_MAX = 10_000
const SESSION_SHAPE = /^([1-9A-HJ-NP-Za-km-z]{22})\.(0|[1-9a-z][0-9a-z]{0,10})\.([\w-]{0,3500})\.[\w-]{22}$/
const GRANT_SHAPE = /^g\.([1-9A-HJ-NP-Za-km-z]{22})\.([\w.-]{4,2304})\.[\w-]{22}$/
const NODE_SHAPE = /^node\.(\d{1,15})(?:\.([a-z0-9-]{1,64}))?\.([\w-]{22})$/i

/**
 * Signs the addresses of one viewer for players and caches that cannot send a header. Its signature prevents
 * changes.
 *
 * The ticket of a session contains no time, because players request the same addresses for hours. A ticket proves which
 * viewer asks, and not that it may continue: the rules of its token or distribution decide that with each request.
 */
export class Tickets {
  readonly #key: KeyObject
  readonly #clock: Clock
  readonly #region: string
  readonly #nodeUrl: string
  /** Tickets with a checked signature: a player sends the same one with each request. */
  readonly #cached = new Map<string, TicketFacts>()

  /**
   * @param key the same on every node of an installation, and for nothing else
   * @param here region and URL of this node; empty: none
   */
  constructor(key: KeyObject, clock: Clock, here: { readonly region: string; readonly nodeUrl: string }) {
    this.#key = key
    this.#clock = clock
    this.#region = here.region
    this.#nodeUrl = here.nodeUrl
  }

  make(facts: TicketFacts): string {
    const body =
      facts.kind === 'grant'
        ? `g.${facts.viewerId}.${writeGrant(facts.grant)}`
        : `${facts.sessionId}.${(facts.tokenId ?? 0).toString(36)}.${facts.request}`
    return `${body}.${this.#mac(['viewer', facts.stream, body])}`
  }

  /** What a ticket for this stream says, or null. A ticket does not say whether its session is still open. */
  read(ticket: unknown, stream: string): TicketFacts | null {
    return typeof ticket === 'string' ? this.#factsOf(ticket, stream) : null
  }

  /**
   * A ticket with which a node of this installation reads a file of a stream of another node. It is good there alone: what listens at the
   * address of a node that is gone gets such tickets too. Without TLS between nodes it opens to others what its answer has shown them. It is
   * good more than once, because a proxy in between may send a request again.
   */
  forNode(nodeUrl: string, file: StreamFile): string {
    const untilMs = this.#clock.now() + SIGNED_FOR_NODE_MS
    const region = this.#region === '' ? '' : `.${this.#region}`
    return `node.${untilMs}${region}.${this.#mac(nodeText(untilMs, this.#region, nodeUrl, file))}`
  }

  /** The region of the node that made this ticket, for this file here and a moment ago; null: no node has made it. Empty: it has none. */
  regionOfNode(ticket: unknown, file: StreamFile): string | null {
    const [, until = '', region = '', mac = ''] = (typeof ticket === 'string' && NODE_SHAPE.exec(ticket)) || []
    const leftMs = Number(until) - this.#clock.now()
    if (mac === '' || leftMs <= 0 || leftMs > 2 * SIGNED_FOR_NODE_MS) return null
    const text = nodeText(Number(until), region, this.#nodeUrl, file)
    return constantTimeEqual(mac, this.#mac(text)) ? region : null
  }

  #factsOf(ticket: string, stream: string): TicketFacts | null {
    const cached = this.#cached.get(ticket)
    if (cached !== undefined) return cached.stream === stream ? cached : null
    const facts = readSession(ticket, stream) ?? readGranted(ticket, stream)
    const [, body = '', mac = ''] = /^(.*)\.([\w-]+)$/.exec(ticket) ?? []
    if (facts === null || !constantTimeEqual(mac, this.#mac(['viewer', stream, body]))) return null
    if (this.#cached.size >= CACHED_MAX) this.#cached.clear()
    this.#cached.set(ticket, facts)
    return facts
  }

  #mac(signed: readonly (string | number)[]): string {
    const mac = hmacSha256(this.#key, JSON.stringify(signed))
    return mac.subarray(0, MAC_BYTES).toString('base64url')
  }
}

/** What the code of a ticket of a node is of. */
const nodeText = (untilMs: number, region: string, nodeUrl: string, { stream, name }: StreamFile) => [
  'node',
  untilMs,
  stream,
  region,
  nodeUrl,
  name,
]

function readSession(ticket: string, stream: string): SessionTicket | null {
  const [, sessionId, token = '0', request = ''] = SESSION_SHAPE.exec(ticket) ?? []
  if (sessionId === undefined) return null
  return { kind: 'session', sessionId, stream, tokenId: token === '0' ? null : Number.parseInt(token, 36), request }
}

function readGranted(ticket: string, stream: string): GrantTicket | null {
  const [, viewerId, grant] = GRANT_SHAPE.exec(ticket) ?? []
  return viewerId === undefined || grant === undefined
    ? null
    : { kind: 'grant', viewerId, stream, grant: readGrant(grant) }
}
