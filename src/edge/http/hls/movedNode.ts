import { sha256 } from '../../../base/crypto.ts'
import { regionsOfStream } from '../../../commands/regions/nodeWithRoom.ts'
import type { Credential } from '../../../core/access/types.ts'
import { hlsNodeFor } from '../../../core/nodes/drain.ts'
import type { GrantTicket, SessionTicket } from '../media/tickets.ts'
import type { ViewerRequest } from '../viewerRequest.ts'
import type { HlsParts } from './parts.ts'

/**
 * Where a player asks for playlists from now on, because this node drains; null: here. Players move one after the other, and
 * those who come only now at once. After a redirect to another host, browsers send `Origin: null`, so a player with a token
 * for certain pages stays until the node ends.
 */
export function movedNode(
  { ctx, viewers }: HlsParts,
  request: ViewerRequest,
  ticket: SessionTicket | GrantTicket | null,
  isPlaylist: boolean,
): string | null {
  const { drain } = ctx.sessions
  if (drain === null || ticket === null) return null
  const id = ticket.kind === 'session' ? ticket.sessionId : ticket.viewerId
  const viewer = ticket.kind === 'session' ? viewers.find(id) : undefined
  const entry = viewer && ctx.sessions.get(viewer.sessionId)
  // Its session would begin here.
  const isNew = ticket.kind === 'session' && entry === undefined
  // A player of this node gets the pieces of the last playlist.
  if (!isPlaylist && !isNew) return null
  const credential = entry?.request.credential
  if (request.headers.origin !== undefined && credential && hasOrigins(credential)) return null
  const regions = viewer === undefined ? null : regionsOfStream(ctx, viewer.target)
  return hlsNodeFor(drain, positionOf(id), regions, isNew ? Number.POSITIVE_INFINITY : ctx.clock.monotonic())
}

const hasOrigins = (credential: Credential): boolean =>
  ('token' in credential && credential.token.origins.length > 0) ||
  ('claims' in credential && credential.claims.origins.length > 0)

/** From 0 to 1, always the same for an id. */
const positionOf = (id: string): number => sha256(id).readUInt32BE() / 2 ** 32
