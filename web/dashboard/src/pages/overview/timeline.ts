import type { Answer, listBroadcasts } from '#api/tokens.ts'
import type { Happening, StreamOnAir } from '../../live.ts'

type Broadcast = Answer<typeof listBroadcasts>[number]

/** One line of "Just happened". */
export interface Line {
  readonly key: string
  readonly at: string
  readonly what: Happening['what']
  readonly streamName: string
  /** The label of the token, for a start. */
  readonly tokenLabel: string
  /** The broadcast that is over, for an end. */
  readonly broadcast?: Broadcast
}

/**
 * What happened, the newest first: broadcasts that are over, streams on the air, and what the page saw itself. An end that
 * the page saw is left out as soon as its broadcast is listed.
 */
export function timelineOf(
  seen: readonly Happening[],
  onAir: readonly StreamOnAir[],
  over: readonly Broadcast[],
  most: number,
): Line[] {
  const lines = [
    ...onAir.map((stream) => started(stream.streamName, stream)),
    ...over.flatMap((broadcast) => [started(broadcast.streamName, broadcast), ended(broadcast)]),
    ...seen.filter((one) => !isListed(one, over)).map(noticed),
  ]
  // A stream on the air and its broadcasts with other sources may tell the same start.
  const known = new Map(lines.toReversed().map((line) => [line.key, line]))
  return [...known.values()].toSorted((a, b) => (a.at < b.at ? 1 : -1)).slice(0, most)
}

const started = (
  streamName: string,
  { startedOn, tokenLabel = '' }: { startedOn: string; tokenLabel?: string | undefined },
) => ({
  key: `started ${streamName} ${startedOn}`,
  at: startedOn,
  what: 'started' as const,
  streamName,
  tokenLabel,
})

const ended = (broadcast: Broadcast): Line => ({
  key: `ended ${broadcast.feedId}`,
  at: broadcast.endedOn,
  what: 'ended',
  streamName: broadcast.streamName,
  tokenLabel: '',
  broadcast,
})

const noticed = ({ id, at, what, streamName, detail }: Happening): Line => ({
  key: what === 'started' ? `started ${streamName} ${at}` : `seen ${id}`,
  at,
  what,
  streamName,
  tokenLabel: detail,
})

/** Clocks of browsers differ from the server's by more than a broadcast is apart from the next one, rarely. */
const SAME_MS = 60_000

function isListed({ what, streamName, at }: Happening, over: readonly Broadcast[]): boolean {
  if (what !== 'ended') return false
  return over.some(
    (one) => one.streamName === streamName && Math.abs(Date.parse(one.endedOn) - Date.parse(at)) < SAME_MS,
  )
}
