import { err, ok, type Result } from '../../../base/result.ts'
import { countBytes } from '../../../commands/sessions/count.ts'
import { noteCmcd } from '../../../commands/sessions/playerReport.ts'
import { mayGoTo } from '../../../core/clusters.ts'
import { cmcdOfUrl } from '../../../core/quality/cmcd.ts'
import { endShared } from '../../../commands/sessions/endShared.ts'
import type { RequestOrigin } from '../../../core/access/requestOrigin.ts'
import { remoteFeed } from '../../../commands/sessions/revoke.ts'
import { remoteFeedSoon } from './feedSoon.ts'
import { remoteMaster } from './master.ts'
import { isReported } from './cacheLog.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import type { SessionTicket } from '../media/tickets.ts'
import type { Admission, Admissions, LocalRendition, MovedStream, RenditionLocation } from './admissions.ts'
import { admittedViewer, NO_TICKET } from './opening.ts'
import { type HlsParts, requestOriginOf } from './parts.ts'
import { NOT_THERE, NOT_YET, notYetOf, START_MAX_MS } from './sending.ts'
import { SHARED } from './sharing.ts'
import { type HlsViewer, recent } from './viewers.ts'
import type { ViewerAnswer, ViewerRequest } from '../viewerRequest.ts'
import { isSameSource } from '../../../core/streams/streamId.ts'
import type { ActiveFeed } from '../../../media/feedsOnAir.ts'
import type { FeedStream } from '../../../media/hls/feedStream.ts'

/** Admits viewers of feeds: each has a session, and its token's rules decide on each request. */
export class FeedAdmissions implements Admissions<SessionTicket> {
  readonly #parts: HlsParts

  constructor(parts: HlsParts) {
    this.#parts = parts
  }

  async admit(ticket: SessionTicket, request: ViewerRequest): Promise<Result<Admission, HttpRefusal>> {
    const from = requestOriginOf(this.#parts, request)
    const viewer = await admittedViewer(this.#parts, ticket, from)
    return viewer.ok ? ok(new FeedAdmission(this.#parts, viewer.value, ticket, from)) : viewer
  }

  peek(ticket: SessionTicket, request: ViewerRequest): Admission | null {
    const { viewers, access } = this.#parts
    const viewer = viewers.find(ticket.sessionId)
    const from = requestOriginOf(this.#parts, request)
    return viewer !== undefined && access.isAdmitted(viewer.sessionId, from)
      ? new FeedAdmission(this.#parts, viewer, ticket, from)
      : null
  }

  async forNode(stream: string, rendition: string, region: string): Promise<LocalRendition | undefined> {
    const feed = this.#parts.hls.feedOf(stream)
    if (feed === undefined || !mayGoTo(region, [feed])) return undefined
    return feedRendition(this.#parts, stream, rendition)
  }
}

function feedRendition(parts: HlsParts, id: string, name: string): LocalRendition | undefined {
  const found = parts.hls.find(id)
  if (found?.hls.rendition(name) === undefined) return undefined
  const playlist = { window: parts.listSegments() }
  return { stream: found.hls, name, playlist, isGone: () => goesOn(parts, found) }
}

/** Whether the source of a stream is on the air, and not in it: at another node, or back from there. */
function goesOn({ hls, ctx }: HlsParts, { ended, hls: { id } }: FeedStream): boolean {
  const last = hls.feedOf(id)
  if (last === undefined) return false
  const { accountId, streamName } = last
  const here = ctx.sessions.feeds.ofStream(accountId, streamName).find((feed) => isSameSource(feed, last))
  if (here === undefined) return ctx.sessions.feeds.isAway(last)
  return ended && here.feedId !== last.feedId && (last.secured || !here.secured)
}

/** The CMCD of a request: in its address, or in the two headers that say how well it plays. */
function cmcdOf({ url, headers }: ViewerRequest): string | null {
  const { 'cmcd-request': request, 'cmcd-status': status } = headers
  if (request === undefined && status === undefined) return url === undefined ? null : cmcdOfUrl(url)
  return [request, status].flat().filter(Boolean).join()
}

class FeedAdmission implements Admission {
  readonly mayRepeat = true
  readonly viewer: HlsViewer
  readonly #parts: HlsParts
  readonly #ticket: SessionTicket
  readonly #from: RequestOrigin

  constructor(parts: HlsParts, viewer: HlsViewer, ticket: SessionTicket, from: RequestOrigin) {
    this.#parts = parts
    this.viewer = viewer
    this.#ticket = ticket
    this.#from = from
  }

  get refusesSharing(): boolean {
    return this.#parts.refuseShared()
  }

  /** Counts the bytes of the answer too: all that its connection carries. */
  attend(response: ViewerAnswer): void {
    const { viewer } = this
    const cmcd = cmcdOf(response.req)
    if (cmcd !== null) noteCmcd(this.#parts.ctx, viewer.sessionId, cmcd)
    const counted = () => countBytes(this.#parts.ctx, viewer.sessionId, viewer)
    viewer.attend(response, counted, isReported(this.#parts, response.req))
  }

  sends(): void {
    // `attend` counts.
  }

  here(rendition: string): LocalRendition | undefined {
    return feedRendition(this.#parts, this.#ticket.stream, rendition)
  }

  isRemote(): boolean {
    return this.#parts.hls.find(this.#ticket.stream) === undefined && this.#feed() === undefined
  }

  /**
   * Packages the feed again if it had no viewers for a while. If another publisher has come since, the stream has another
   * name.
   */
  async locate(rendition: string): Promise<Result<RenditionLocation, HttpRefusal>> {
    const { hls } = this.#parts
    const { stream } = this.#ticket
    const [feed, here] = [this.#feed(), this.here(rendition)]
    if (hls.find(stream) === undefined || (feed !== undefined && here?.isGone() === true)) {
      if (feed === undefined) return this.#remote()
      const next = await this.#nextHere(feed)
      if (!next.ok) return next
      if (next.value !== null) return ok({ movedTo: next.value })
    }
    const found = this.here(rendition)
    return found === undefined ? err(NOT_THERE) : ok({ rendition: found })
  }

  get #isPreview(): boolean {
    return this.#parts.ctx.sessions.get(this.viewer.sessionId)?.session.action === 'preview'
  }

  async recheck(): Promise<HttpRefusal | null> {
    return this.viewer.isCut ? NO_TICKET : null
  }

  endShared(response: ViewerAnswer): void {
    this.viewer.spare(response)
    this.#parts.viewers.end(this.viewer, SHARED)
    endShared(this.#parts.ctx, this.viewer.sessionId, this.#from)
  }

  /** While a publisher moves from one node to another, its players continue with the last playlist. */
  async #remote(): Promise<Result<RenditionLocation, HttpRefusal>> {
    const { viewer } = this
    const feed = await remoteFeed(this.#parts.ctx, viewer.target, viewer.target.sourceId)
    const nowMs = this.#parts.ctx.clock.monotonic()
    if (feed && !mayGoTo(this.#parts.ctx.policy.region, [feed])) return err(NOT_THERE)
    if (feed?.url) this.#isAt(feed.url)
    const nodeUrl = recent(viewer.remote, nowMs)
    return nodeUrl === null ? err(NOT_THERE) : ok({ nodeUrl })
  }

  /** The feed is at this node; null: here. */
  #isAt(nodeUrl: string | null): void {
    const { viewer } = this
    const atMs = this.#parts.ctx.clock.monotonic()
    if (viewer.remote !== null && viewer.remote.nodeUrl !== nodeUrl)
      viewer.left = { nodeUrl: viewer.remote.nodeUrl, atMs }
    viewer.remote = nodeUrl === null ? null : { nodeUrl, atMs }
  }

  get leftNode(): string | null {
    return recent(this.viewer.left, this.#parts.ctx.clock.monotonic())
  }

  async locateNext(): Promise<Result<MovedStream, HttpRefusal>> {
    const followed = this.#followed()
    if (followed !== null) return ok(followed)
    const { ctx } = this.#parts
    const { target } = this.viewer
    const remote = await remoteFeedSoon(ctx, target)
    const feed = this.#feed()
    if (feed !== undefined) {
      const next = await this.#nextHere(feed)
      if (!next.ok) return next
      return next.value === null ? err(NOT_YET) : ok(next.value)
    }
    // A player that watches gets the last playlist.
    if (!remote?.url) return err(NOT_YET)
    if (!mayGoTo(ctx.policy.region, [remote])) return err(NOT_THERE)
    if (this.#needsToken(remote)) return err(NO_TICKET)
    this.#isAt(remote.url)
    const master = await remoteMaster(this.#parts, target, remote.url)
    if (!master.ok) return master
    const { stream } = master.value
    return stream === this.#ticket.stream ? err(NOT_THERE) : ok(this.#movedTo(stream))
  }

  /** The feed of this node. */
  #feed(): ActiveFeed | undefined {
    const { accountId, streamName, sourceId } = this.viewer.target
    return this.#parts.ctx.sessions.feeds.get(accountId, streamName, sourceId)
  }

  /** What continues the stream of the ticket at this node, as soon as it can be played; null: that stream itself. */
  async #nextHere(feed: ActiveFeed): Promise<Result<MovedStream | null, HttpRefusal>> {
    this.#isAt(null)
    if (this.#needsToken(feed)) return err(NO_TICKET)
    const opened = this.#parts.hls.open(feed)
    if (!opened.ok) return err({ status: 503, text: opened.error })
    const followed = this.#followed()
    if (!(await opened.value.ready(followed === null ? START_MAX_MS : 0)))
      return followed === null ? err(notYetOf(opened.value)) : ok(followed)
    const { id } = opened.value.hls
    return ok(id === this.#ticket.stream ? null : this.#movedTo(id))
  }

  /** The viewer was admitted to a feed that needed no token. */
  #needsToken({ secured }: { readonly secured: boolean }): boolean {
    return secured && this.#ticket.tokenId === null && !this.#isPreview
  }

  #movedTo(stream: string): MovedStream {
    this.viewer.moves.note(this.#ticket.stream, stream)
    return { stream, ticket: this.#parts.tickets.make({ ...this.#ticket, stream }) }
  }

  /** The stream that this node sent the player to last, from the one of its ticket. */
  #followed(): MovedStream | null {
    const next = this.viewer.moves.next(this.#ticket.stream)
    return next === null ? null : this.#movedTo(next)
  }
}
