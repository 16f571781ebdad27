import { ok } from '../base/result.ts'
import {
  deleteRecording,
  listRecordings,
  readRecording,
  type RecordingEntry,
} from '../commands/recordings/recordings.ts'
import { signRecording } from '../commands/recordings/signRecording.ts'
import { hostKeyOf } from '../config/dataDirectory.ts'
import { recordingsDir } from '../config/paths.ts'
import type { RecordedTrack } from '../core/recordings/types.ts'
import { RECORDING_LINK_SECONDS } from '../core/recordings/signSchema.ts'
import { command } from './command.ts'
import { given, mostEntries, required, textFlag, wholeOr } from './flag.ts'
import { CSV_FLAG, type Columns, listing, record, WATCH_FLAGS } from './listing.ts'
import { collectPages } from './pages.ts'
import { nodeUrlOf } from './port.ts'
import { readConfig, withAccount } from './session.ts'

const ID = required('ID', 'The id of the recording, as `sluice recording list` shows it.')

const LISTED: Columns<RecordingEntry> = {
  id: ['key', ({ id }) => id],
  stream: ['text', ({ streamName }) => streamName],
  state: ['text', ({ state }) => state],
  started: ['time', ({ startedOn }) => startedOn],
  length: ['ms', ({ durationMs }) => durationMs],
  size: ['bytes', ({ bytes }) => bytes],
  'deleted in': ['until', ({ expiresOn }) => expiresOn],
  problem: ['sentence', ({ problem }) => problem],
}

const SHOWN: Columns<RecordingEntry> = {
  ...LISTED,
  ended: ['time', ({ endedOn }) => endedOn],
  tracks: ['text', ({ tracks }) => tracks.map(trackText).join(', ')],
  token: ['text', ({ tokenId }) => tokenId],
  feed: ['key', ({ feedId }) => feedId],
  download: ['key', ({ url }) => url],
  thumbnail: ['key', ({ thumbnailUrl }) => thumbnailUrl],
}

const trackText = ({ codec, width, height }: RecordedTrack): string =>
  width === undefined ? codec : `${codec} ${width}x${height}`

const list = command({
  path: ['recording', 'list'],
  summary: 'List recordings, newest first',
  flags: {
    stream: textFlag('NAME', 'Only of this stream.'),
    search: textFlag('TEXT', 'Only of streams with this in their name, in any case.'),
    token: textFlag('ID', 'Only of this publish token.'),
    limit: mostEntries(100, 100_000),
    ...WATCH_FLAGS,
  },
  examples: ['sluice recording list', 'sluice recording list --stream studio-1 --limit 1000 --csv'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const { stream: streamName, search, token: tokenId, limit } = call.flags
      const read = (page: Record<string, string>) => listRecordings(ctx, ctx.sign, accountId, page)
      const found = await collectPages(read, given({ streamName, search, tokenId }), limit)
      return found.ok ? ok({ json: found.value, text: listing(LISTED, found.value) }) : found
    }),
})

const show = command({
  path: ['recording', 'show'],
  summary: 'Show a recording: its state, media, size, and what went wrong',
  detail: 'An API secret downloads its file and thumbnail from the printed paths.',
  args: { id: ID },
  flags: CSV_FLAG,
  examples: ['sluice recording show 1ChFYS1U9KuinnYC1UzefG', 'sluice recording show 1ChFYS1U9KuinnYC1UzefG --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const found = await readRecording(ctx, accountId, call.args.id)
      return found.ok ? ok({ json: found.value, text: record(SHOWN, found.value) }) : found
    }),
})

const link = command({
  path: ['recording', 'link'],
  summary: 'Print a link with which anyone can play a completed recording until it expires',
  detail:
    'Run it with the configuration of the node that has the file. If that node is at another address than the printed one, ' +
    'replace the part before /recordings. Add `&download` to save the file instead. Only deleting the recording ends the link earlier.',
  args: { id: ID },
  flags: {
    'expires-in': wholeOr(RECORDING_LINK_SECONDS.default, 'SECONDS', 'How many seconds the link is valid.', {
      ...RECORDING_LINK_SECONDS,
    }),
  },
  examples: [
    'sluice recording link 1ChFYS1U9KuinnYC1UzefG --expires-in 86400',
    'curl -o show.mp4 "$(sluice recording link 1ChFYS1U9KuinnYC1UzefG)"',
  ],
  run: (call) => {
    const config = readConfig(call)
    if (!config.ok) return Promise.resolve(config)
    return withAccount(call, async ({ ctx, actor }) => {
      const hostKey = hostKeyOf(config.value.data.dir, recordingsDir(config.value))
      const seconds = ok(call.flags['expires-in'])
      const signed = await signRecording(ctx, actor, { id: call.args.id, hostKey, seconds })
      if (!signed.ok) return signed
      const { path, expiresOn } = signed.value
      const url = nodeUrlOf(config.value) + path
      return ok({ json: { url, expiresOn }, text: url, hint: `It plays until ${expiresOn}.` })
    })
  },
})

const remove = command({
  path: ['recording', 'delete'],
  summary: 'Delete a recording with its file; links to it end',
  detail: 'The server that has the file removes it within a minute.',
  args: { id: ID },
  examples: ['sluice recording delete 1ChFYS1U9KuinnYC1UzefG', 'sluice recording delete 1ChFYS1U9KuinnYC1UzefG --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const done = await deleteRecording(ctx, actor, call.args.id)
      return done.ok ? ok({ json: true, text: '', hint: `Recording ${call.args.id} was deleted.` }) : done
    }),
})

export const recordingCommands = [list, show, link, remove]
