import type { Result } from '../../../base/result.ts'
import type { PieceKey, RenditionFacts } from '../../../core/hls/facts.ts'
import type { PlaylistOptions } from '../../../core/hls/playlist.ts'
import type { TicketBudget } from '../../../core/hls/ticketBudget.ts'
import type { Arrival } from '../../../media/hls/stream.ts'
import type { ServedByCache } from '../../../commands/sessions/cacheLog.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import type { GrantTicket } from '../media/tickets.ts'
import type { ViewerAnswer, ViewerRequest } from '../viewerRequest.ts'

/** A player with a ticket: a series of requests. */
export interface TicketViewer {
  readonly budget: TicketBudget
  lastAskedMs: number
  /** The viewer got an init segment, and since then no playlist that it waited for. */
  hasNewInit: boolean
}

/** The media of a stream: a packaged feed, or the engine of a channel. */
export interface PackagedStream {
  facts(rendition: string): RenditionFacts | undefined
  /** Waits until there is something to list, `ms` at most. */
  begins(rendition: string, ms: number): Promise<boolean>
  reached(rendition: string, n: number, part: number | null, ms: number): Promise<Arrival>
  reachedPart(rendition: string, n: number, ms: number): Promise<Arrival>
  piece(key: Omit<PieceKey, 'stream'>): Buffer | undefined
  /** How long a piece plays, milliseconds. */
  playsMs(rendition: string, kind: PieceKey['kind'], n: number): number
}

/** A rendition that this node makes. */
export interface LocalRendition {
  readonly stream: PackagedStream
  /** Its name in the stream. */
  readonly name: string
  readonly playlist: PlaylistOptions
  /** It does not continue: players have to move to another rendition of the master playlist, or to the node that continues it. */
  isGone(): boolean
}

/** Where a rendition is made: here, at the node with this URL, or under the name of another stream. */
export type RenditionLocation =
  | { readonly rendition: LocalRendition }
  | { readonly nodeUrl: string }
  | { readonly movedTo: MovedStream }

/** A stream of another name, and a ticket for it. */
export interface MovedStream {
  readonly stream: string
  readonly ticket: string
}

/** A request that the rules admit. */
export interface Admission {
  readonly viewer: TicketViewer
  /** Whether a ticket that several players use is refused. */
  readonly refusesSharing: boolean
  /** Whether a player gets its latest playlist again while there is none for a moment. Not one that has another engine to turn to. */
  readonly mayRepeat: boolean
  /** An answer is under way: whatever ends the viewer aborts it. */
  attend(response: ViewerAnswer): void
  /** Counts what is sent: `length` bytes of body, or what was taken of them, and the playing time of a whole piece. */
  sends(response: ViewerAnswer, length: number, playsMs: number): void
  /** A rendition of this node that is there now. */
  here(rendition: string): LocalRendition | undefined
  /** Whether `locate` would look at other nodes for a rendition that is not here, as far as memory says. */
  isRemote(rendition: string): boolean
  locate(rendition: string): Promise<Result<RenditionLocation, HttpRefusal>>
  /** The stream that continues this one, which another node no longer has under its name. */
  locateNext(): Promise<Result<MovedStream, HttpRefusal>>
  /** The node that the publisher has left a moment ago, which still has its pieces; null: it has left none. */
  readonly leftNode: string | null
  /** Why the viewer is refused after a wait; null: it is still admitted. */
  recheck(): Promise<HttpRefusal | null>
  /** Refuses the ticket from now on, because several players use it. This answer may say so. */
  endShared(response: ViewerAnswer): void
}

/** The viewers of distributions. They have no sessions, so bytes count for distribution and tracking id. */
export interface DistributionViewers extends Admissions<GrantTicket> {
  /** What bytes that a cache sent with this ticket count for; null: the distribution is deleted. */
  servedByCache(ticket: GrantTicket, bytes: number): Promise<ServedByCache | null>
}

/** Who may read the streams of one kind, and where their media is: feeds, or distributions of channels. */
export interface Admissions<Ticket> {
  /** Decides on a request with a genuine ticket. */
  admit(ticket: Ticket, request: ViewerRequest): Promise<Result<Admission, HttpRefusal>>
  /** The same from memory alone, without effects; null: `admit` has to decide. */
  peek(ticket: Ticket, request: ViewerRequest): Admission | null
  /** A rendition for a node of a region, which has decided on its viewers. */
  forNode(stream: string, rendition: string, region: string): Promise<LocalRendition | undefined>
}
