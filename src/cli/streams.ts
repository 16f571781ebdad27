import { err, ok } from '../base/result.ts'
import { switchRecording } from '../commands/recordings/switchRecording.ts'
import { reprioritize, stopStream } from '../commands/sessions/sessions.ts'
import { firstStreamsOnAir, readStreamHealth, readStreamOnAir } from '../commands/streams/streamsOnAir.ts'
import { PROTOCOLS_OF } from '../core/access/protocols.ts'
import type { SourceReading } from '../core/streams/source.ts'
import type { FeedHealth, StreamOnAir } from '../core/streams/streamOnAir.ts'
import { command } from './command.ts'
import { id, mostEntries, required, requiredChoice } from './flag.ts'
import { type ColumnKind, type Columns, listing, record, records, WATCH_FLAGS, yesNo } from './listing.ts'
import { usage } from './refusal.ts'
import { withAccount } from './session.ts'
import { PRIORITY_FLAG } from './tokenBody.ts'

const STREAM = required('NAME', 'The name of the stream.')

/** They fit into 80 columns. */
const LISTED: Columns<StreamOnAir> = {
  stream: ['text', ({ streamName }) => streamName],
  health: ['text', ({ health }) => health],
  over: ['text', ({ protocol }) => protocol],
  viewers: ['text', ({ viewers }) => viewers],
  in: ['bitrate', ({ bitrateIn }) => bitrateIn],
  out: ['bitrate', ({ bitrateOut }) => bitrateOut],
  size: ['text', ({ width, height }) => (width === undefined ? undefined : `${width}x${height}`)],
  since: ['since', ({ startedOn }) => startedOn],
}

const viewersOver = PROTOCOLS_OF.view.map(
  (protocol) =>
    [`viewers over ${protocol}`, ['text', (stream: StreamOnAir) => stream.viewersByProtocol[protocol]]] as const,
)

const SHOWN: Columns<StreamOnAir> = {
  ...LISTED,
  'frames per second': ['text', ({ frameRate }) => frameRate],
  video: ['text', ({ videoCodec }) => videoCodec],
  audio: ['text', ({ audioCodec }) => audioCodec],
  'lowest in': ['bitrate', ({ bitrateLowest }) => bitrateLowest],
  'highest in': ['bitrate', ({ bitrateHighest }) => bitrateHighest],
  ...Object.fromEntries(viewersOver),
  'most viewers': ['text', ({ mostViewers }) => mostViewers],
  secured: ['text', ({ secured }) => yesNo(secured)],
  recorded: ['text', ({ recorded }) => yesNo(recorded)],
  token: ['text', ({ tokenId }) => tokenId],
  'token label': ['text', ({ tokenLabel }) => tokenLabel],
  sources: ['text', ({ sources }) => sources],
  source: ['text', ({ sourceId }) => sourceId],
  priority: ['text', ({ priority }) => priority],
  spares: ['text', ({ spares }) => spares],
  session: ['key', ({ sessionId }) => sessionId],
  feed: ['key', ({ feedId }) => feedId],
  node: ['text', ({ node }) => node],
  'node url': ['text', ({ nodeUrl }) => nodeUrl],
}

const list = command({
  path: ['stream', 'list'],
  summary: 'List the streams on the air at all nodes, by name',
  detail:
    '`in` is what the publisher sends, `out` what all viewers get, in bits per second. docs/reference/sessions.md explains health.',
  flags: { limit: mostEntries(100, 10_000), ...WATCH_FLAGS },
  examples: ['sluice stream list --watch', 'sluice stream list --limit 1000 --csv'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const streams = await firstStreamsOnAir(ctx, accountId, call.flags.limit)
      return ok({ json: streams, text: listing(LISTED, streams) })
    }),
})

const show = command({
  path: ['stream', 'show'],
  summary: 'Show a stream on the air: its media, health, viewers, token and node',
  detail:
    'Of several sources it shows the one without a source id, or else the oldest. `lowest in` and `highest in` are of ' +
    'averages over ten seconds, in the last five minutes.',
  args: { stream: STREAM },
  flags: WATCH_FLAGS,
  examples: ['sluice stream show studio-1 --watch', 'sluice stream show studio-1 --json | jq -r .health'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const found = await readStreamOnAir(ctx, accountId, call.args.stream)
      return found.ok ? ok({ json: found.value, text: record(SHOWN, found.value) }) : found
    }),
})

const stop = command({
  path: ['stream', 'stop'],
  summary: 'End all publishers and viewers of a stream',
  args: { stream: STREAM },
  examples: ['sluice stream stop show', 'sluice stream stop show --account a1b2c3'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor, accountId }) => {
      const done = await stopStream(ctx, actor, { streamId: `${accountId}/${call.args.stream}` })
      if (!done.ok) return done
      const wasIdle = done.value.stoppingLevel === 'None'
      return ok({
        json: done.value,
        text: '',
        hint: wasIdle ? 'The stream had no publishers or viewers.' : 'The stream is being stopped.',
      })
    }),
})

const recording = command({
  path: ['stream', 'record'],
  summary: 'Record a stream on the air from now on, or no longer',
  detail:
    'For all its sources, from their next keyframe on, until the broadcast ends. `off` ends the recording, which becomes a file. ' +
    'Publishers and tokens say whether the next broadcast is recorded.',
  args: { stream: STREAM, state: { ...requiredChoice(['on', 'off'], '`on` or `off`.'), placeholder: 'STATE' } },
  examples: ['sluice stream record studio-1 on', 'sluice stream record studio-1 off --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const isOn = call.args.state === 'on'
      const done = await switchRecording(ctx, actor, call.args.stream, { record: isOn })
      if (!done.ok) return done
      return ok({
        json: done.value,
        text: '',
        hint: isOn ? 'The stream is being recorded.' : 'The recording is being ended.',
      })
    }),
})

/** How each figure of a source is called and shown. */
const SOURCE_COLUMNS: Readonly<Record<keyof SourceReading, readonly [heading: string, kind: ColumnKind]>> = {
  videoProfile: ['profile', 'text'],
  videoLevel: ['level', 'text'],
  declaredFrameRate: ['declared frames per second', 'text'],
  sentFrameRate: ['sent frames per second', 'text'],
  unevenFrames: ['late frames', 'share'],
  keyframeMs: ['keyframe interval', 'ms'],
  longestKeyframeMs: ['longest keyframe interval', 'ms'],
  keyframeWaitMs: ['longest wait for a keyframe', 'ms'],
  bFrames: ['B-frames', 'share'],
  videoGaps: ['gaps', 'text'],
  sampleRate: ['sample rate', 'hertz'],
  channels: ['channels', 'text'],
  silentMs: ['silent for', 'ms'],
  audioLevelDb: ['audio level (dB)', 'text'],
  clippedAudio: ['clipped audio', 'share'],
  skewMs: ['audio later than video', 'ms'],
  behindMs: ['behind', 'ms'],
  clockJumps: ['clock jumps', 'text'],
  packetLoss: ['packet loss', 'share'],
  packetsGivenUp: ['packets given up', 'share'],
  jitterMs: ['jitter', 'ms'],
  roundTripMs: ['round trip', 'ms'],
  layers: ['layers', 'text'],
}

const HEALTH: Columns<FeedHealth> = {
  source: ['text', ({ sourceId }) => sourceId],
  over: ['text', ({ protocol }) => protocol],
  health: ['text', (feed) => feed.health],
  findings: ['text', ({ findings }) => findings.map(({ code }) => code).join(', ')],
  in: ['bitrate', ({ bitrateIn }) => bitrateIn],
  'frames per second': ['text', ({ frameRate }) => frameRate],
  ...Object.fromEntries(
    Object.entries(SOURCE_COLUMNS).map(([name, [heading, kind]]) => [
      heading,
      [kind, ({ source }: FeedHealth) => source[name as keyof SourceReading]],
    ]),
  ),
}

const health = command({
  path: ['stream', 'health'],
  summary: 'Say what is wrong with the media of a stream on the air, and what to set in its encoder',
  detail:
    'And all that is measured of it, for each of its publishers: in a pipe and as comma-separated values times in milliseconds, ' +
    'shares from 0 to 1. docs/guides/stream-health.md explains each finding.',
  args: { stream: STREAM },
  flags: WATCH_FLAGS,
  examples: [
    'sluice stream health studio-1',
    "sluice stream health studio-1 --json | jq -r '.feeds[].findings[].code'",
  ],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const found = await readStreamHealth(ctx, accountId, call.args.stream, { history: 'false' })
      return found.ok ? ok({ json: found.value, text: records(HEALTH, found.value.feeds, findingsText) }) : found
    }),
})

function findingsText({ sourceId, findings }: FeedHealth): string {
  const of = sourceId ? `${sourceId}: ` : ''
  return findings
    .map(({ code, text, advice, docs }) => `${of}${code}: ${text}\n  ${advice}\n  docs/${docs}`)
    .join('\n\n')
}

const rank = command({
  path: ['stream', 'reprioritize'],
  summary: 'Give the publishers of a token another priority; they are disconnected and come back with it',
  args: { id: id('ID', 'The id of the publish token, as `sluice token list` shows it.') },
  flags: { priority: PRIORITY_FLAG },
  examples: ['sluice stream reprioritize 7 --priority 10', 'sluice stream reprioritize 7 --priority none'],
  run: async (call) => {
    const { priority: updatePriority } = call.flags
    if (updatePriority === undefined) return err(usage('--priority is required'))
    return withAccount(call, async ({ ctx, actor }) => {
      const done = await reprioritize(ctx, actor, { tokenId: call.args.id, updatePriority })
      if (!done.ok) return done
      const wasIdle = done.value.stoppingLevel === 'None'
      const hint = wasIdle ? 'Nothing is published with this token.' : 'Its publishers are being disconnected.'
      return ok({ json: done.value, text: '', hint })
    })
  },
})

export const streamCommands = [list, show, health, stop, recording, rank]
