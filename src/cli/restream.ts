import { err, ok, type Result } from '../base/result.ts'
import { latestTargetEvents, type TargetEventEntry } from '../commands/restream/targetEvents.ts'
import { readStreamOnAir } from '../commands/streams/streamsOnAir.ts'
import { readToken } from '../commands/tokens/readTokens.ts'
import { syncRestream } from '../commands/tokens/syncRestream.ts'
import { updateToken } from '../commands/tokens/updateToken.ts'
import { failure } from '../core/errors.ts'
import { hasSecretUrl, isMasked, maskedUrl, RESTREAM_LIMITS, withSecret } from '../core/restream/targets.ts'
import type { TargetOnAir } from '../core/streams/streamOnAir.ts'
import type { TokenRecord } from '../core/tokens/rules.ts'
import type { PublishTokenRecord } from '../core/tokens/schema.ts'
import { command } from './command.ts'
import { id, required, textFlag, toggleFlag, wholeOr } from './flag.ts'
import { CSV_FLAG, type Columns, type Listing, listing, WATCH_FLAGS } from './listing.ts'
import { type CliRefusal, usage } from './refusal.ts'
import { type AccountScope, withAccount } from './session.ts'

const TOKEN_ID = id('ID', 'The id of the publish token, as `sluice token list` shows it.')
const NUMBER = id('N', 'The number of the target, as `sluice restream list` shows it.')

type Targets = PublishTokenRecord['restream']

const list = command({
  path: ['restream', 'list'],
  summary: 'List the targets of a publish token',
  args: { id: TOKEN_ID },
  flags: CSV_FLAG,
  examples: ['sluice restream list 7', 'sluice restream list 7 --json'],
  run: (call) =>
    withAccount(call, async (scope) => {
      const targets = await targetsOf(scope, call.args.id)
      return targets.ok ? ok({ json: targets.value, text: targetTable(targets.value) }) : targets
    }),
})

const add = command({
  path: ['restream', 'add'],
  summary: 'Send what is published with a token on to another server',
  detail:
    'Reads the stream key from standard input, so that it is in no list of processes. For srt:// that is streamid=…&passphrase=…, ' +
    'for rtsp:// the password of the user in the address, or nothing.',
  args: {
    id: TOKEN_ID,
    url: required(
      'URL',
      'rtmp:// or rtmps:// with the application, without the key; srt:// with a port; or whips:// or rtsp:// with the path.',
    ),
  },
  flags: {
    label: textFlag('LABEL', 'A name for people.'),
    transcode: toggleFlag('Encode video other than H.264 again for it.'),
  },
  examples: [
    'sluice restream add 7 rtmps://live.example.com/app < key.txt',
    'sluice restream add 7 srt://studio.example.com:9000?latency=500 --label Studio < secrets.txt',
  ],
  run: async (call) => {
    const input = await call.host.readStdin(RESTREAM_LIMITS.urlMax)
    if (!input.ok) return err(usage(`the key on standard input ${input.error}`))
    const target = addressOf(call.args.url, input.value.trim())
    if (target === null)
      return err(
        usage('the secrets of srt:// and rtsp:// belong on standard input, and the user of rtsp:// into the address'),
      )
    const tokenId = call.args.id
    const { label = '', transcode } = call.flags
    return withAccount(call, (scope) =>
      change(scope, tokenId, (targets) => ok([...targets, { ...target, label, enabled: true, transcode }])),
    )
  },
})

/** Joins what came on standard input to a URL. Null: the URL has a secret, which lists of processes show, or no user for a password. */
function addressOf(url: string, secret: string): Pick<Targets[number], 'url' | 'key'> | null {
  if (!hasSecretUrl(url)) return { url, key: secret }
  const joined = secret === '' ? url : withSecret(url, secret)
  if (isMasked(maskedUrl(url)) || (secret !== '' && joined === url)) return null
  return { url: joined, key: '' }
}

const remove = command({
  path: ['restream', 'remove'],
  summary: 'Take a target away from a publish token',
  args: { id: TOKEN_ID, n: NUMBER },
  examples: ['sluice restream remove 7 1', 'sluice restream remove 7 2 --json'],
  run: (call) =>
    withAccount(call, (scope) => changeOne(scope, call.args, (targets, at) => targets.filter((_, one) => one !== at))),
})

const enable = command({
  path: ['restream', 'enable'],
  summary: 'Send to a target of a publish token again',
  args: { id: TOKEN_ID, n: NUMBER },
  examples: ['sluice restream enable 7 1', 'sluice restream enable 7 2 --json'],
  run: (call) => withAccount(call, (scope) => changeOne(scope, call.args, switched(true))),
})

const disable = command({
  path: ['restream', 'disable'],
  summary: 'Send nothing to a target of a publish token, and keep it',
  detail: 'Only this target ends; the broadcast and the other targets go on.',
  args: { id: TOKEN_ID, n: NUMBER },
  examples: ['sluice restream disable 7 1', 'sluice restream disable 7 2 --json'],
  run: (call) => withAccount(call, (scope) => changeOne(scope, call.args, switched(false))),
})

const switched =
  (enabled: boolean) =>
  (targets: Targets, at: number): Targets =>
    targets.map((target, one) => (one === at ? { ...target, enabled } : target))

const sync = command({
  path: ['restream', 'sync'],
  summary: 'Dial the targets of a publish token again that were refused or have failed',
  args: { id: TOKEN_ID },
  examples: ['sluice restream sync 7', 'sluice restream sync 7 --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const done = await syncRestream(ctx, actor, call.args.id)
      return done.ok ? ok({ json: true, text: '', hint: 'The targets are dialled within some seconds.' }) : done
    }),
})

async function targetsOf({ ctx, accountId }: AccountScope, tokenId: number): Promise<Result<Targets, CliRefusal>> {
  const found = await readToken(ctx, accountId, 'publish', tokenId)
  return found.ok ? ok(restreamOf(found.value)) : found
}

/** Keys are as records show them, which means to an update that they stay. */
async function change(
  scope: AccountScope,
  tokenId: number,
  to: (targets: Targets) => Result<Targets, CliRefusal>,
): Promise<Result<{ json: Targets; text: Listing }, CliRefusal>> {
  const before = await targetsOf(scope, tokenId)
  if (!before.ok) return before
  const restream = to(before.value)
  if (!restream.ok) return restream
  const { ctx, actor } = scope
  const updated = await updateToken(ctx, actor, 'publish', tokenId, { restream: restream.value })
  if (!updated.ok) return updated
  const targets = restreamOf(updated.value)
  return ok({ json: targets, text: targetTable(targets) })
}

/** The same for the target with a number, as lists show it. */
const changeOne = (
  scope: AccountScope,
  { id: tokenId, n }: { id: number; n: number },
  to: (targets: Targets, at: number) => Targets,
) =>
  change(scope, tokenId, (targets) =>
    n > targets.length ? err(failure('not_found', `The token has no target ${n}`)) : ok(to(targets, n - 1)),
  )

const restreamOf = (record: TokenRecord): Targets => ('restream' in record ? record.restream : [])

interface Row {
  readonly n: number
  readonly target: Targets[number]
}

const yesNo = (is: boolean): string => (is ? 'yes' : 'no')

const COLUMNS: Columns<Row> = {
  n: ['key', ({ n }) => n],
  url: ['text', ({ target }) => target.url],
  key: ['text', ({ target }) => target.key],
  label: ['text', ({ target }) => target.label],
  enabled: ['text', ({ target }) => yesNo(target.enabled)],
  transcode: ['text', ({ target }) => yesNo(target.transcode)],
}

const targetTable = (targets: Targets): Listing =>
  listing(
    COLUMNS,
    targets.map((target, at) => ({ n: at + 1, target })),
  )

const STATES: Columns<TargetOnAir> = {
  n: ['key', ({ index }) => index + 1],
  target: ['text', ({ label, url }) => label || new URL(url).host],
  state: ['text', ({ status }) => status],
  since: ['since', ({ since }) => since],
  out: ['bitrate', ({ bitrateOut }) => bitrateOut],
  'live seconds': ['text', ({ liveSeconds }) => liveSeconds],
  source: ['text', ({ sourceId }) => sourceId],
  problem: ['text', ({ problem, lastProblem }) => problem ?? lastProblem],
}

const show = command({
  path: ['restream', 'show'],
  summary: 'Show what becomes of the targets of a stream on the air',
  detail: '`out` is what a target is sent, in bits per second. `problem` is the latest one, also if it is over.',
  args: { stream: required('NAME', 'The name of the stream.') },
  flags: WATCH_FLAGS,
  examples: ['sluice restream show studio-1 --watch', 'sluice restream show studio-1 --csv'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const found = await readStreamOnAir(ctx, accountId, call.args.stream)
      if (!found.ok) return found
      const targets = found.value.restreams ?? []
      return ok({ json: targets, text: listing(STATES, targets) })
    }),
})

const EVENTS: Columns<TargetEventEntry> = {
  time: ['text', ({ at }) => at],
  n: ['key', ({ index }) => index + 1],
  target: ['text', ({ label, url }) => label || new URL(url).host],
  state: ['text', ({ status }) => status],
  problem: ['text', ({ problem }) => problem],
}

const events = command({
  path: ['restream', 'events'],
  summary: 'List what became of the targets of a stream, newest first',
  detail: 'Also of broadcasts that are over, for `sessions.retentionDays`.',
  args: { stream: required('NAME', 'The name of the stream.') },
  flags: { limit: wholeOr(100, 'N', 'The most entries to list.', { min: 1, max: 10_000 }), ...WATCH_FLAGS },
  examples: ['sluice restream events studio-1 --watch', 'sluice restream events studio-1 --limit 1000 --csv'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const found = await latestTargetEvents(ctx, accountId, call.args.stream, call.flags.limit)
      return ok({ json: found, text: listing(EVENTS, found) })
    }),
})

export const restreamCommands = [list, add, remove, enable, disable, sync, show, events]
