import { isoTime } from '../../base/time.ts'
import type { Protocol, ViewProtocol } from '../access/protocols.ts'
import { type CodedSentence, saidAs } from '../notices.ts'
import type { SourceFinding } from './findings.ts'
import type { SourceHistory } from './history.ts'
import type { FeedReading, TargetReading } from './reading.ts'
import type { SourceReading } from './source.ts'

type Known = { readonly [K in keyof FeedReading]?: NonNullable<FeedReading[K]> }

/** A target as the interface shows it. */
export interface TargetOnAir extends Pick<TargetReading, 'index' | 'label' | 'url' | 'status' | 'liveSeconds'> {
  readonly sourceId?: string
  readonly since: string
  readonly retryOn?: string
  readonly problem?: string
  /** The same as data, where it has codes. */
  readonly problemSentences?: CodedSentence[]
  /** Bits per second. Absent: not known, or it is not live. */
  readonly bitrateOut?: number
  /** The latest problem, also if it is over. */
  readonly lastProblem?: string
  readonly lastProblemSentences?: CodedSentence[]
  readonly lastProblemOn?: string
}

export const targetOnAir = (
  { sinceMs, retryAtMs, problem, bitrateOut, lastProblem, ...target }: TargetReading,
  sourceId: string | null,
): TargetOnAir => ({
  ...(sourceId === null ? {} : { sourceId }),
  ...target,
  since: isoTime(sinceMs),
  ...(retryAtMs === null ? {} : { retryOn: isoTime(retryAtMs) }),
  ...saidAs('problem', problem),
  ...(bitrateOut === null ? {} : { bitrateOut }),
  ...saidAs('lastProblem', lastProblem),
  ...(lastProblem === null ? {} : { lastProblemOn: isoTime(lastProblem.atMs) }),
})

/** A stream on the air as the interface shows it. What is not known is absent. */
export interface StreamOnAir
  extends Pick<
    Known,
    'videoCodec' | 'audioCodec' | 'width' | 'height' | 'frameRate' | 'bitrateIn' | 'bitrateLowest' | 'bitrateHighest'
  > {
  readonly streamName: string
  /** `accountId/streamName`. */
  readonly streamId: string
  readonly startedOn: string
  readonly sources: number
  readonly feedId: string
  readonly sessionId: string
  readonly sourceId?: string
  /** Of its publisher. Absent: the lowest. */
  readonly priority?: number
  /** Publishers that wait to take over, of all sources. Absent: none. */
  readonly spares?: number
  readonly protocol: Protocol
  readonly node: string
  readonly nodeUrl?: string
  readonly tokenId: number
  readonly tokenLabel?: string
  readonly secured: boolean
  /** A recording of one of its sources is under way. */
  readonly recorded: boolean
  readonly health: FeedReading['health']
  readonly findings: readonly SourceFinding[]
  readonly source: SourceReading
  /** Targets that its feeds are sent on to. Absent: none. */
  readonly restreams?: readonly TargetOnAir[]
  readonly viewers: number
  readonly viewersByProtocol: Readonly<Record<ViewProtocol, number>>
  readonly mostViewers: number
  /** Bits per second to viewers. */
  readonly bitrateOut: number
  readonly channel: null
}

/** How the media of one publisher comes in. */
export interface FeedHealth
  extends Pick<
      StreamOnAir,
      'feedId' | 'sourceId' | 'protocol' | 'node' | 'startedOn' | 'health' | 'findings' | 'source'
    >,
    Pick<Known, 'bitrateIn' | 'frameRate'> {}

export interface StreamHealthNow {
  readonly streamName: string
  /** The oldest first. */
  readonly feeds: readonly FeedHealth[]
  /** Absent: it was not asked for. */
  readonly history?: { readonly slotSeconds: number; readonly sources: readonly SourceHistory[] }
}

/** What changes all the time while a stream is on the air; the other members are its state. */
const FIGURES = [
  'bitrateIn',
  'bitrateOut',
  'bitrateLowest',
  'bitrateHighest',
  'frameRate',
  'viewers',
  'viewersByProtocol',
  'mostViewers',
  'findings',
  'restreams',
] as const satisfies (keyof StreamOnAir)[]

type StreamFigures = Pick<StreamOnAir, 'streamName' | (typeof FIGURES)[number]>

/** Sums over the streams of an account. */
export interface Totals {
  readonly viewers: number
  readonly bitrateIn: number
  readonly bitrateOut: number
}

/** Something that a dashboard shows has changed. */
export type Update =
  | { readonly name: 'streamStarted' | 'streamChanged'; readonly data: StreamOnAir }
  | { readonly name: 'streamEnded'; readonly data: { readonly streamName: string } }
  | { readonly name: 'figures'; readonly data: Totals & { readonly streams: readonly StreamFigures[] } }
  | { readonly name: 'refusals'; readonly data: { readonly counts: readonly { code: string; count: number }[] } }
  | { readonly name: 'decisions'; readonly data: { readonly count: number } }
  | { readonly name: 'webhookPaused'; readonly data: { readonly webhookId: string; readonly until: string } }
  | { readonly name: 'webhookResumed'; readonly data: { readonly webhookId: string } }
  | { readonly name: 'edited'; readonly data: { readonly kinds: readonly string[] } }
  | {
      readonly name: 'engineChanged'
      readonly data: { readonly engineId: string; readonly channelId: string; readonly status: string }
    }

export const totalsOf = (streams: readonly StreamOnAir[]): Totals => ({
  viewers: streams.reduce((sum, { viewers }) => sum + viewers, 0),
  bitrateIn: streams.reduce((sum, { bitrateIn }) => sum + (bitrateIn ?? 0), 0),
  bitrateOut: streams.reduce((sum, { bitrateOut }) => sum + bitrateOut, 0),
})

/** Streams that began, ended or changed their state. */
export function stateUpdates(before: readonly StreamOnAir[], after: readonly StreamOnAir[]): Update[] {
  const [old, current] = [byName(before), byName(after)]
  const ended = before.filter(({ streamName }) => !current.has(streamName))
  return [
    ...ended.map(({ streamName }): Update => ({ name: 'streamEnded', data: { streamName } })),
    ...after.flatMap((stream): Update[] => {
      const was = old.get(stream.streamName)
      if (was === undefined) return [{ name: 'streamStarted', data: stream }]
      return stateOf(was) === stateOf(stream) ? [] : [{ name: 'streamChanged', data: stream }]
    }),
  ]
}

/** The figures that have changed; none when all are as before. */
export function figureUpdates(before: readonly StreamOnAir[], after: readonly StreamOnAir[]): Update[] {
  const old = byName(before)
  const streams = after.map(figuresOf).filter((figures) => {
    const was = old.get(figures.streamName)
    return was === undefined || JSON.stringify(figuresOf(was)) !== JSON.stringify(figures)
  })
  const totals = totalsOf(after)
  if (streams.length === 0 && JSON.stringify(totalsOf(before)) === JSON.stringify(totals)) return []
  return [{ name: 'figures', data: { ...totals, streams } }]
}

const byName = (streams: readonly StreamOnAir[]): Map<string, StreamOnAir> =>
  new Map(streams.map((stream) => [stream.streamName, stream]))

const figuresOf = (stream: StreamOnAir): StreamFigures => {
  const named = FIGURES.filter((name) => stream[name] !== undefined).map((name) => [name, stream[name]])
  return { streamName: stream.streamName, ...Object.fromEntries(named) } as StreamFigures
}

/** Another feed of the same stream, from a publisher that came back, counts as a change; so does the status of a target. */
const stateOf = (stream: StreamOnAir): string => {
  const figures: ReadonlySet<string> = new Set<string>([...FIGURES, 'source'])
  const targets = stream.restreams?.map(({ bitrateOut: _bitrate, liveSeconds: _seconds, ...state }) => state)
  return JSON.stringify([targets, ...Object.entries(stream).filter(([name]) => !figures.has(name))])
}
