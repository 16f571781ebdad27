import { type Answer, readStreamHealth } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { sessionNews } from '../../live.ts'
import { documentAt } from '../../navigation.ts'
import { LoadError, Notice } from '../../parts/notice.tsx'
import { Card, Pairs } from '../../parts/page.tsx'
import { count } from '../../parts/values.tsx'
import { sourceFinding } from '../../words/noticeSentences.ts'
import { words } from '../../words/words.ts'

const text = words.stream.media

type Feed = Answer<typeof readStreamHealth>['feeds'][number]
type Finding = Feed['findings'][number]

/** Figures come every two seconds. */
const EACH = 2

/** What is wrong with the media of a stream, and all that is measured of it where it comes in. */
export function Health({ streamName }: { readonly streamName: string }) {
  const input = { path: { streamName }, query: { history: false } }
  const round = Math.floor(sessionNews.value / EACH)
  const { data, error, reload } = useLoad((signal) => call(readStreamHealth, input, { signal }), [streamName], round)
  // A stream that has just ended is not found; the page says so.
  if (error && error.status !== 404) return <LoadError error={error} onRetry={reload} />
  return (
    <>
      {(data?.feeds ?? []).map((feed) => (
        <FeedHealth key={feed.feedId} feed={feed} isOne={data?.feeds.length === 1} />
      ))}
    </>
  )
}

const FeedHealth = ({ feed, isOne }: { readonly feed: Feed; readonly isOne: boolean }) => (
  <>
    {feed.findings.map((finding) => (
      <FindingNotice key={finding.code} finding={finding} source={feed.source} />
    ))}
    <Card title={isOne ? text.title : `${text.title}: ${feed.sourceId ?? text.mainSource}`}>
      <Pairs rows={rowsOf(feed)} />
    </Card>
  </>
)

function FindingNotice({ finding, source }: { readonly finding: Finding; readonly source: Feed['source'] }) {
  const of = finding.code === 'frame_rate' ? source.declaredFrameRate : source.videoProfile
  const said = sourceFinding(finding.code, finding.shown, of)
  return (
    <Notice kind="warn">
      <b>{said.text}</b> <Advice text={said.advice} />{' '}
      <a href={documentAt(finding.docs)} target="_blank" rel="noopener">
        {text.more}
      </a>
    </Notice>
  )
}

/** An option of a program stays in one piece: `-fflags` breaks after its hyphen otherwise. */
const Advice = ({ text: advice }: { readonly text: string }) => (
  <>{advice.split(/(?<= )(-[a-z]\S*)/).map((part, at) => (at % 2 === 0 ? part : <span class="nowrap">{part}</span>))}</>
)

/** A keyframe that comes sooner is an answer to the request. */
const WAIT_MS = 1000

/** From 100 seconds on in minutes, as findings say it. */
const seconds = (ms: number): string =>
  ms < 100_000 ? `${count(Math.round(ms / 100) / 10)} s` : `${count(Math.round(ms / 60_000))} min`
/** Nothing is said of what did not happen. */
const times = (value: number): string => (value === 0 ? '' : `${count(value)} ×`)
const millis = (ms: number): string => `${count(ms)} ms`
const percent = (share: number): string => `${count(Math.round(share * 1000) / 10)}%`

/** What is known of it. */
function rowsOf({ frameRate, source }: Feed): [string, string][] {
  const rows: [string, string | undefined][] = [
    [text.profile, joined(source.videoProfile, source.videoLevel)],
    [text.frames, source.sentFrameRate === undefined ? undefined : framesOf(source, frameRate)],
    [text.keyframes, both(source.keyframeMs, source.longestKeyframeMs)],
    [text.keyframeWait, shown(source.keyframeWaitMs, (ms) => (ms < WAIT_MS ? '' : seconds(ms)))],
    [text.bFrames, shown(source.bFrames, (share) => (share === 0 ? text.none : percent(share)))],
    [text.sound, soundOf(source)],
    [text.skew, shown(source.skewMs, millis)],
    [text.behind, shown(source.behindMs, millis)],
    [text.jumps, shown(source.clockJumps, times)],
    [text.gaps, shown(source.videoGaps, times)],
    [text.loss, shown(source.packetLoss, percent)],
    [text.givenUp, shown(source.packetsGivenUp, percent)],
    [text.jitter, shown(source.jitterMs, millis)],
    [text.roundTrip, shown(source.roundTripMs, millis)],
    [text.layers, shown(source.layers, count)],
  ]
  return rows.flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[name, value]]))
}

const shown = (value: number | undefined, as: (value: number) => string): string | undefined =>
  value === undefined ? undefined : as(value)

const joined = (...parts: readonly (string | undefined)[]): string => parts.filter(Boolean).join(' ')

function both(last: number | undefined, longest: number | undefined): string | undefined {
  if (last === undefined || longest === undefined) return undefined
  return longest === last ? seconds(last) : text.longest(seconds(last), seconds(longest))
}

function framesOf({ sentFrameRate, declaredFrameRate }: Feed['source'], came: number | undefined): string {
  const sent = count(sentFrameRate ?? came ?? 0)
  return declaredFrameRate === undefined ? sent : text.declared(sent, count(declaredFrameRate))
}

function soundOf({ sampleRate, channels, audioLevelDb, silentMs = 0 }: Feed['source']): string | undefined {
  if (sampleRate === undefined) return undefined
  const layout = channels === 1 ? text.mono : channels === 2 ? text.stereo : text.channels(String(channels ?? 0))
  const format = `${count(sampleRate / 1000)} kHz, ${layout}`
  if (silentMs >= 2000) return `${format}, ${text.silentFor(seconds(silentMs))}`
  return audioLevelDb === undefined ? format : `${format}, ${text.level(count(audioLevelDb))}`
}
