import { timeOrderedId } from '../../../base/ids.ts'
import type { AccessAttempt } from '../../../commands/access/authorize.ts'
import { admitViewerAnywhere } from '../../../commands/sessions/admit.ts'
import { endWithTicket, reasonNotToBeginAgain } from '../../../commands/sessions/beginAgain.ts'
import { closeSession } from '../../../commands/sessions/close.ts'
import { addressKey } from '../../../core/access/address.ts'
import { REFUSALS, TICKET_SHARED } from '../../../core/access/refusals.ts'
import type { RequestOrigin } from '../../../core/access/requestOrigin.ts'
import type { SessionEndReason } from '../../../core/sessions/endReason.ts'
import { err, ok, type Result } from '../../../base/result.ts'
import { type HttpRefusal, notAdmitted } from '../media/refusal.ts'
import type { SessionTicket } from '../media/tickets.ts'
import { remoteFeedSoon } from './feedSoon.ts'
import type { HlsParts } from './parts.ts'
import { CONTINUES, LEAVING } from './sending.ts'
import { SHARED } from './sharing.ts'
import { HlsViewer, recent, type StreamSource } from './viewers.ts'

/** Far longer than any real origin or `User-Agent`. */
const HEADER_MAX = 1024
/** Of a presented token that a ticket can hold; self-signed tokens have a few hundred characters. */
const PRESENTED_MAX = 2048
/** Account, stream, source and presented token. */
type Sealed = [string, string, string | null, string | null]
/** What the sealed requests of tickets are bound to. */
const SEALED_AS = 'hls:ticket'

export const NO_TICKET: HttpRefusal = { status: 401, text: REFUSALS.invalid_token.text }
const EXPIRED: HttpRefusal = { status: 401, text: REFUSALS.token_expired.text }

type Attempt = Omit<AccessAttempt, 'accountId'> & StreamSource & Pick<RequestOrigin, 'userAgent'>
type TicketRequest = StreamSource & Pick<Attempt, 'presented'>

/** A viewer who has no session yet: one that gets a master playlist. */
export function newViewer(parts: HlsParts, attempt: Attempt): HlsViewer {
  const sessionId = newSessionId(parts)
  return waiting(parts, sessionId, sessionId, attempt)
}

/**
 * The viewer with this ticket, if the rules of its token admit the request. Opens the session with the first one.
 * @throws StoreUnavailable
 */
export async function admittedViewer(
  parts: HlsParts,
  ticket: SessionTicket,
  from: RequestOrigin,
): Promise<Result<HlsViewer, HttpRefusal>> {
  const found = await viewerOf(parts, ticket, from)
  if (!found.ok) return found
  const refused = await found.value.begin(from.address, ticket.stream)
  if (refused !== null) return err(refused)
  const text = await parts.access.check(found.value.sessionId, from)
  return text === null ? found : err({ status: 401, text })
}

/** The viewer of a genuine ticket. Another node knows it, or its session here has ended: then it gets a session of its own. */
async function viewerOf(
  parts: HlsParts,
  ticket: SessionTicket,
  from: RequestOrigin,
): Promise<Result<HlsViewer, HttpRefusal>> {
  const { viewers } = parts
  const { sessionId: ticketId } = ticket
  const found = viewers.find(ticketId)
  if (found !== undefined) return ok(found)
  const requested = await requestOfTicket(parts, ticket)
  if (!requested.ok) return requested
  const attempt = { action: 'view', protocol: 'hls', ...requested.value, ...from } as const
  // Another request with the ticket may have come meanwhile.
  return ok(viewers.find(ticketId) ?? waiting(parts, ticketId, newSessionId(parts), attempt))
}

/**
 * What the viewer of a genuine ticket asked for. Refused if its session was ended on purpose.
 * @throws StoreUnavailable
 */
export async function requestOfTicket(
  parts: HlsParts,
  ticket: SessionTicket,
): Promise<Result<TicketRequest, HttpRefusal>> {
  const { viewers, ctx } = parts
  const { sessionId: ticketId } = ticket
  const ended = viewers.whyEnded(ticketId)
  const requested = ended === undefined ? requestOf(parts, ticket) : null
  if (requested === null) return err(ended ?? NO_TICKET)
  // Its session is open here.
  if (viewers.find(ticketId) !== undefined) return ok(requested)
  const reason = await reasonNotToBeginAgain(ctx, ticketId)
  if (reason === null) return ok(requested)
  return err(reason === TICKET_SHARED.code ? SHARED : NO_TICKET)
}

const newSessionId = ({ ctx }: HlsParts): string => timeOrderedId(ctx.clock.now(), ctx.random)

function waiting(parts: HlsParts, ticketId: string, sessionId: string, attempt: Attempt): HlsViewer {
  const viewer = new HlsViewer({ ticketId, sessionId, target: attempt })
  // A header may be long, and thousands of viewers may wait.
  const { origin, userAgent } = attempt
  const short = (header: string | null | undefined) => header?.slice(0, HEADER_MAX)
  const bounded = { ...attempt, origin: short(origin) ?? null, userAgent: short(userAgent) }
  viewer.opensWith((address, stream) => openSession(parts, viewer, { ...bounded, address }, stream))
  parts.viewers.wait(viewer, addressKey(attempt.address))
  return viewer
}

/**
 * Runs at the first request for media, so that requests for master playlists alone take no slots. The stream may be over by then: its
 * playlist says so, as long as it is there.
 */
async function openSession(
  parts: HlsParts,
  viewer: HlsViewer,
  attempt: Attempt,
  stream: string,
): Promise<HttpRefusal | null> {
  const { ctx, viewers } = parts
  const { sessionId } = viewer
  // A player of another node comes here, maybe before its publisher.
  if (viewer.ticketId !== sessionId) await remoteFeedSoon(ctx, attempt)
  const admitted = await admitViewerAnywhere(ctx, attempt, {
    sourceId: attempt.sourceId,
    isKept: isKept(parts, viewer, stream),
    userAgent: attempt.userAgent,
    viewer: viewer.ticketId,
    sessionId,
    cut: async ({ accountId }, reason) => {
      viewers.end(viewer, whyEnded(reason))
      if (viewer.ticketId !== sessionId) await endWithTicket(ctx, { accountId, id: viewer.ticketId, reason })
    },
  })
  if (!admitted.ok) {
    if (!('url' in admitted)) return notAdmitted(admitted)
    // While this node drains, the next playlist says where to go.
    return ctx.sessions.drain === null ? { ...CONTINUES, nodeUrl: admitted.url } : LEAVING
  }
  if (viewer.isCut) {
    await closeSession(ctx, sessionId, 'left')
    return NO_TICKET
  }
  viewers.add(viewer)
  return null
}

/** Whether this node, or the other one that had the feed when the viewer asked for it, may still have what is left of it. */
const isKept = ({ hls, ctx }: HlsParts, { remote }: HlsViewer, stream: string): boolean =>
  hls.find(stream) !== undefined || recent(remote, ctx.clock.monotonic()) !== null

/**
 * A session that ends because the server stops may begin again at the next one, so the player should try again. Null: it may begin again
 * here, because other nodes had given this one up and ended its sessions on record.
 */
function whyEnded(reason: SessionEndReason): HttpRefusal | null {
  if (reason === 'lost') return null
  if (reason === 'shutdown') return LEAVING
  if (reason === 'token_expired') return EXPIRED
  return reason === TICKET_SHARED.code ? SHARED : NO_TICKET
}

/** What the viewer asked for, sealed for its ticket. Empty: it is too long, so other nodes will refuse the ticket. */
export function sealRequest({ sealer }: HlsParts, { accountId, streamName, sourceId, presented }: Attempt): string {
  if ((presented?.length ?? 0) > PRESENTED_MAX) return ''
  const asked: Sealed = [accountId, streamName, sourceId, presented]
  return sealer.seal(JSON.stringify(asked), SEALED_AS).toString('base64url')
}

function requestOf({ sealer }: HlsParts, { request }: SessionTicket): TicketRequest | null {
  const opened = request === '' ? null : sealer.open(Buffer.from(request, 'base64url'), SEALED_AS)
  if (!opened?.ok) return null
  const [accountId, streamName, sourceId, presented] = JSON.parse(opened.value.toString()) as Sealed
  return { accountId, streamName, sourceId, presented }
}
