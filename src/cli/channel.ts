import { quote } from '../base/quote.ts'
import { err, ok, type Result } from '../base/result.ts'
import { createChannel, deleteChannel, listChannels } from '../commands/channels/channels.ts'
import { readChannelWith } from '../commands/channels/included.ts'
import { startChannel, stopChannel } from '../commands/channels/runs/start.ts'
import type { ChannelRecord } from '../core/channels/channelSchema.ts'
import type { IngestRecord } from '../core/channels/ingestSchema.ts'
import { type IngestType, PULL_SCHEMES, pullTypeOf } from '../core/channels/types.ts'
import type { ChannelFailure } from '../core/channels/errors.ts'
import { channelEventsCommand } from './channelEvents.ts'
import { slateCommand } from './channelSlate.ts'
import { usageCommand } from './channelUsage.ts'
import { type Call, command, type CommandAnswer, type CommandOutcome, type CommandResult } from './command.ts'
import {
  CHANNEL_ID,
  choiceOrNone,
  type CliFlag,
  given,
  mostEntries,
  required,
  textFlag,
  texts,
  wholeFlag,
} from './flag.ts'
import { type Columns, listing, WATCH_FLAGS } from './listing.ts'
import { collectPages } from './pages.ts'
import { details } from './print.ts'
import { fromChannelFailure, usage } from './refusal.ts'
import { type AccountScope, withAccount } from './session.ts'

const SOURCE_MAX_BYTES = 4096

type AudioTrack = IngestRecord['tracks']['audio'][number]

const AUDIO_TRACK = /^(?:(\d{1,4}):)?([^:]+):(.+)$/

/** As the API takes them, which checks them. */
const audioTracks: CliFlag<readonly AudioTrack[]> = {
  placeholder: '[NUMBER:]LANGUAGE:LABEL',
  about:
    'An audio track that viewers choose, the default first; may be repeated. NUMBER is its PID over SRT, and its trackId over enhanced RTMP.',
  required: false,
  many: true,
  read: (given) => {
    const tracks = given.map((text) => AUDIO_TRACK.exec(text))
    const at = tracks.indexOf(null)
    if (at >= 0) return err(`must be such as 257:en:English, not ${quote(given[at] ?? '')}`)
    return ok(
      tracks.map((found) => {
        const [, number, language = '', label = ''] = found ?? []
        return { ...(number === undefined ? {} : { pid: Number(number) }), language, label }
      }),
    )
  },
}

const create = command({
  path: ['channel', 'create'],
  summary: 'Create a channel that a publisher can push to, and print only its id',
  detail:
    'The channel has one ingest, one engine and one distribution, and is stopped. `sluice channel show` prints the ' +
    'addresses to push to and to play. For other setups use the API under `/v2`. If the source contains a key, read it ' +
    'from standard input (`--source -`): every user of the machine who may list processes sees arguments.',
  flags: {
    name: required('NAME', 'A display name.'),
    source: textFlag(
      'URL',
      `Pull from this address (${PULL_SCHEMES.join(', ')}); \`-\` reads it from standard input. Without it, publishers push.`,
    ),
    push: choiceOrNone(['rtmp', 'srt'], 'How publishers push: over RTMP (the default) or SRT.'),
    audio: audioTracks,
    ladder: textFlag('ID', 'The ABR ladder of the engine; the default ladder if omitted.'),
    'external-id': texts('ID', 'An id of yours, unique among your channels; may be repeated.'),
    timeout: wholeFlag('SECONDS', 'Stop after this long without a source; 0: never. Default 3600.'),
  },
  examples: [
    'sluice channel create --name "Main stage" --push srt --audio 257:en:English --audio 258:de:Deutsch',
    'CHANNEL=$(sluice channel create --name Studio --source - < source.txt)',
  ],
  run: async (call) => {
    if (call.flags.source !== undefined && call.flags.push !== undefined)
      return err(usage('--source and --push exclude each other'))
    const source = await readSource(call, call.flags.source)
    if (!source.ok) return source
    return withAccount(call, async ({ ctx, actor }) => {
      const made = await createChannel(ctx, actor, bodyOf({ ...call.flags, source: source.value }))
      if (!made.ok) return refused(made.error)
      const [ingest] = made.value.ingests
      const [distribution] = made.value.distributions
      const push = ingest?.streamKey === undefined ? '' : `Push to ${pushedTo(ingest)}. `
      const hint = `${push}Play /v2/distributions/${distribution?.id}/hls/main.m3u8.`
      return ok({ json: made.value, text: made.value.id, hint })
    })
  },
})

/** An address over SRT has the key in it. */
const pushedTo = ({ type, url, streamKey }: IngestRecord): string =>
  type === 'srt-push' ? `${url}` : `${url} with the stream key ${streamKey}`

async function readSource(call: Call, given: string | undefined): CommandResult<string | undefined> {
  if (given !== '-') return ok(given)
  const input = await call.host.readStdin(SOURCE_MAX_BYTES)
  return input.ok ? ok(input.value.trim()) : err(usage(`--source: ${input.error}`))
}

interface CreateFlags {
  name: string
  source: string | undefined
  push: 'rtmp' | 'srt' | undefined
  audio: readonly AudioTrack[]
  ladder: string | undefined
  'external-id': readonly string[]
  timeout: number | undefined
}

const typeOf = ({ source, push = 'rtmp' }: Pick<CreateFlags, 'source' | 'push'>): IngestType =>
  source === undefined ? `${push}-push` : (pullTypeOf(source) ?? 'rtmp-pull')

function bodyOf({ name, source, push, audio, ladder, 'external-id': externalIds, timeout }: CreateFlags): object {
  const type = typeOf({ source, push })
  const quality = ladder === undefined ? {} : { quality: { abrLadderId: ladder } }
  const engines = [{ name: 'Engine', ...quality }]
  const url = source === undefined ? {} : { url: source }
  const tracks = audio.length === 0 ? {} : { tracks: { audio } }
  return {
    name,
    ...(externalIds.length === 0 ? {} : { externalIds }),
    ...(timeout === undefined ? {} : { timeout }),
    ingests: [{ name: 'Ingest', type, ...url, ...tracks, engines }],
    distributions: [{ name: 'Distribution' }],
  }
}

const list = command({
  path: ['channel', 'list'],
  summary: 'List channels, newest first',
  flags: {
    search: textFlag('TEXT', 'Only channels with this id, or with this text in their name.'),
    status: textFlag('STATUS', 'Only channels with one of these statuses, separated by commas.'),
    'external-id': textFlag('ID', 'Only the channel with this external id.'),
    limit: mostEntries(100, 100_000),
    ...WATCH_FLAGS,
  },
  examples: ['sluice channel list', 'sluice channel list --status playing,waiting --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const { search, status, 'external-id': externalId, limit } = call.flags
      const query = given({ search, status, externalId })
      const found = await collectPages((page) => listChannels(ctx, accountId, page), query, limit)
      if (!found.ok) return refused(found.error)
      return ok({ json: found.value, text: listing(COLUMNS, found.value) })
    }),
})

const COLUMNS: Columns<ChannelRecord> = {
  id: ['key', ({ id }) => id],
  status: ['text', ({ status }) => status],
  name: ['text', ({ name }) => name],
  'external ids': ['text', ({ externalIds = [] }) => externalIds.join(', ')],
}

const EVERYTHING = { include: 'ingests,engines,distributions' }

const show = command({
  path: ['channel', 'show'],
  summary: 'Show a channel with its ingests, engines and distributions',
  detail: 'The output contains the stream keys of its ingests.',
  args: { id: CHANNEL_ID },
  examples: ['sluice channel show ch_1BvTL3PCGW4dXdKwCqFkRe', 'sluice channel show $CHANNEL --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, reader }) => {
      const found = await readChannelWith(ctx, reader, call.args.id, EVERYTHING)
      if (!found.ok) return refused(found.error)
      const { data, ingests, engines, distributions } = found.value
      const parts = { ingests: ingests?.data, engines: engines?.data, distributions: distributions?.data }
      const shown = Object.entries(parts).flatMap(([name, items = []]) =>
        items.map((item) => [name.slice(0, -1), item as object] as const),
      )
      return ok({ json: { ...data, ...parts }, text: details(data, shown) })
    }),
})

const remove = command({
  path: ['channel', 'delete'],
  summary: 'Delete a stopped channel with all its parts',
  args: { id: CHANNEL_ID },
  examples: ['sluice channel delete ch_1BvTL3PCGW4dXdKwCqFkRe', 'sluice channel delete $CHANNEL --account a1b2c3'],
  run: (call) => acting(call, deleteChannel, 'was deleted'),
})

const start = command({
  path: ['channel', 'start'],
  summary: 'Start the engines of a channel; a running server does it within a second',
  args: { id: CHANNEL_ID },
  examples: ['sluice channel start ch_1BvTL3PCGW4dXdKwCqFkRe', 'sluice channel start $CHANNEL'],
  run: (call) => acting(call, startChannel, 'will be started by a running server'),
})

const stop = command({
  path: ['channel', 'stop'],
  summary: 'Stop the engines of a channel; a running server does it within a second',
  args: { id: CHANNEL_ID },
  examples: ['sluice channel stop ch_1BvTL3PCGW4dXdKwCqFkRe', 'sluice channel stop $CHANNEL'],
  run: (call) => acting(call, stopChannel, 'will be stopped by a running server'),
})

type Verb = (
  ctx: AccountScope['ctx'],
  actor: AccountScope['actor'],
  id: string,
) => Promise<Result<true, ChannelFailure>>

/** Runs one command on the named channel. */
function acting(call: Call & { args: { id: string } }, verb: Verb, done: string): CommandOutcome {
  const { id } = call.args
  return withAccount(call, async ({ ctx, actor }) => {
    const answer = await verb(ctx, actor, id)
    return answer.ok
      ? ok<CommandAnswer>({ json: true, text: '', hint: `Channel ${id} ${done}.` })
      : refused(answer.error)
  })
}

const refused = (failure: ChannelFailure) => ({ ok: false, error: fromChannelFailure(failure) }) as const

export const channelCommands = [
  create,
  list,
  show,
  usageCommand,
  channelEventsCommand,
  slateCommand,
  remove,
  start,
  stop,
]
