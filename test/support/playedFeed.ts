import type { SegmentFact } from '../../src/core/hls/facts.ts'
import { ENDLESS_ROOM } from '../../src/media/convert/encodingRoom.ts'
import { FeedStream, type FeedStreamOptions } from '../../src/media/hls/feedStream.ts'
import { MemoryStore } from '../../src/media/hls/store.ts'
import { StreamNumbers } from '../../src/media/hls/streamNumbers.ts'
import { Player, type Recorded } from '../media/ffmpeg/frames.ts'
import { freeLoad } from './load.ts'
import { silentLog } from './log.ts'

type PlayedOptions = Pick<FeedStreamOptions, 'clock' | 'ffmpeg' | 'renditions'> & Partial<FeedStreamOptions>

/** A recording that plays on a clock, as HLS, and what the stream warns of. */
export function playedFeed(recorded: Recorded, options: PlayedOptions) {
  const { clock } = options
  const player = new Player(recorded, 1, clock)
  const warnings: string[] = []
  const stream = new FeedStream({
    log: { ...silentLog, warn: (fields, text) => void warnings.push(`${text}: ${String(fields['problem'])}`) },
    name: 'test',
    id: `feed-${Math.random()}`,
    store: new MemoryStore(),
    numbers: new StreamNumbers(clock),
    source: player,
    segments: { targetSeconds: 2, listed: 20, maxBytes: 64e6, parts: true },
    load: freeLoad(),
    encodingRoom: ENDLESS_ROOM,
    stallMs: 4000,
    ...options,
  })
  return { player, stream, warnings }
}

/** The whole segments of a rendition that are listed. */
export const segmentsOf = (stream: FeedStream, name: string): readonly SegmentFact[] =>
  stream.hls.facts(name)?.segments.filter(({ closed }) => closed) ?? []

/** It has no track yet: it waits for what ffmpeg makes of its source. */
export const isYetToBegin = (stream: FeedStream): boolean => stream.hls.rendition('v0')?.variant().codecs === ''
