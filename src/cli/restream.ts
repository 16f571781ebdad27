import { err, ok, type Result } from '../base/result.ts'
import {
  type EngineTargetNow,
  type EngineTargetEvent,
  engineTargetEvents,
  engineTargets,
} from '../commands/restream/engineTargetEvents.ts'
import { latestTargetEvents, type TargetEventEntry } from '../commands/restream/targetEvents.ts'
import { readStreamOnAir } from '../commands/streams/streamsOnAir.ts'
import { failure } from '../core/errors.ts'
import { hasSecretUrl, isMasked, maskedUrl, RESTREAM_LIMITS, withSecret } from '../core/restream/targets.ts'
import type { TargetOnAir } from '../core/streams/streamOnAir.ts'
import { type Call, command, type CommandAnswer } from './command.ts'
import { id, mostEntries, required, textFlag, toggleFlag } from './flag.ts'
import { CSV_FLAG, type Columns, type Listing, listing, WATCH_FLAGS, yesNo } from './listing.ts'
import { type CliRefusal, usage } from './refusal.ts'
import { holderOf, type Target } from './restreamHolders.ts'
import { withAccount } from './session.ts'

const HOLDER_ID = required(
  'ID',
  'The id of the publish token, as `sluice token list` shows it, or of the engine, as `sluice channel show` does.',
)
const NUMBER = id('N', 'The number of the target, as `sluice restream list` shows it.')

type Targets = readonly Target[]

const list = command({
  path: ['restream', 'list'],
  summary: 'List the targets of a publish token or an engine',
  args: { id: HOLDER_ID },
  flags: CSV_FLAG,
  examples: ['sluice restream list 7', 'sluice restream list en_1BvTL3PCGW4dXdKwCqFkRe --json'],
  run: (call) =>
    withAccount(call, async (scope) => {
      const targets = await holderOf(call.args.id).read(scope)
      return targets.ok ? ok({ json: targets.value, text: targetTable(targets.value) }) : targets
    }),
})

const add = command({
  path: ['restream', 'add'],
  summary: 'Send what is published with a token, or what an engine makes, on to another server',
  detail:
    'Reads the stream key from standard input, so that it is in no list of processes. For srt:// that is streamid=…&passphrase=…, ' +
    'for rtsp:// the password of the user in the address, or nothing.',
  args: {
    id: HOLDER_ID,
    url: required(
      'URL',
      'rtmp:// or rtmps:// with the application, without the key; srt:// with a port; or whips:// or rtsp:// with the path.',
    ),
  },
  flags: {
    label: textFlag('LABEL', 'A name for people.'),
    transcode: toggleFlag('Encode video other than H.264 again for it. Engines make H.264 anyway.'),
  },
  examples: [
    'sluice restream add 7 rtmps://live.example.com/app < key.txt',
    "sluice restream add 7 'srt://studio.example.com:9000?latency=500' --label Studio < secrets.txt",
  ],
  run: async (call) => {
    const input = await call.host.readStdin(RESTREAM_LIMITS.urlMax)
    if (!input.ok) return err(usage(`the key on standard input ${input.error}`))
    const target = addressOf(call.args.url, input.value.trim())
    if (target === null)
      return err(
        usage('the secrets of srt:// and rtsp:// belong on standard input, and the user of rtsp:// into the address'),
      )
    const { label = '', transcode } = call.flags
    const isOfEngine = holderOf(call.args.id).kind === 'engine'
    if (isOfEngine && transcode) return err(usage('an engine makes H.264 for all of its targets, without --transcode'))
    const added = { ...target, label, enabled: true, ...(isOfEngine ? {} : { transcode }) }
    return change(call, (targets) => ok([...targets, added]))
  },
})

/** Joins what came on standard input to a URL. Null: the URL has a secret, which lists of processes show, or no user for a password. */
function addressOf(url: string, secret: string): Pick<Target, 'url' | 'key'> | null {
  if (!hasSecretUrl(url)) return { url, key: secret }
  const joined = secret === '' ? url : withSecret(url, secret)
  if (isMasked(maskedUrl(url)) || (secret !== '' && joined === url)) return null
  return { url: joined, key: '' }
}

const remove = command({
  path: ['restream', 'remove'],
  summary: 'Take a target away from a publish token or an engine',
  args: { id: HOLDER_ID, n: NUMBER },
  examples: ['sluice restream remove 7 1', 'sluice restream remove 7 2 --json'],
  run: (call) => changeOne(call, (targets, at) => targets.filter((_, one) => one !== at)),
})

const enable = command({
  path: ['restream', 'enable'],
  summary: 'Send to a target again',
  args: { id: HOLDER_ID, n: NUMBER },
  examples: ['sluice restream enable 7 1', 'sluice restream enable 7 2 --json'],
  run: (call) => changeOne(call, switched(true)),
})

const disable = command({
  path: ['restream', 'disable'],
  summary: 'Send nothing to a target, and keep it',
  detail: 'Only this target ends; the broadcast and the other targets go on.',
  args: { id: HOLDER_ID, n: NUMBER },
  examples: ['sluice restream disable 7 1', 'sluice restream disable 7 2 --json'],
  run: (call) => changeOne(call, switched(false)),
})

const switched =
  (enabled: boolean) =>
  (targets: Targets, at: number): Targets =>
    targets.map((target, one) => (one === at ? { ...target, enabled } : target))

const sync = command({
  path: ['restream', 'sync'],
  summary: 'Dial targets again that were refused or have failed',
  args: { id: HOLDER_ID },
  examples: ['sluice restream sync 7', 'sluice restream sync 7 --json'],
  run: (call) =>
    withAccount(call, async (scope) => {
      const done = await holderOf(call.args.id).sync(scope)
      return done.ok ? ok({ json: true, text: '', hint: 'The targets are dialled within some seconds.' }) : done
    }),
})

/** Keys are as records show them, which means to an update that they stay. */
const change = (call: Call & { args: { id: string } }, to: (targets: Targets) => Result<Targets, CliRefusal>) =>
  withAccount(call, async (scope) => {
    const holder = holderOf(call.args.id)
    const before = await holder.read(scope)
    const next = before.ok ? to(before.value) : before
    const written = next.ok ? await holder.write(scope, next.value) : next
    return written.ok ? ok({ json: written.value, text: targetTable(written.value) }) : written
  })

/** The same for the target with a number, as lists show it. */
const changeOne = (call: Call & { args: { id: string; n: number } }, to: (targets: Targets, at: number) => Targets) =>
  change(call, (targets) => {
    const { n, id: holderId } = call.args
    if (n <= targets.length) return ok(to(targets, n - 1))
    return err(failure('not_found', `The ${holderOf(holderId).kind} has no target ${n}`))
  })

interface Row {
  readonly n: number
  readonly target: Target
}

const COLUMNS: Columns<Row> = {
  n: ['key', ({ n }) => n],
  url: ['text', ({ target }) => target.url],
  key: ['text', ({ target }) => target.key],
  label: ['text', ({ target }) => target.label],
  enabled: ['text', ({ target }) => yesNo(target.enabled)],
  transcode: ['text', ({ target }) => yesNo(target.transcode ?? false)],
}

const targetTable = (targets: Targets): Listing =>
  listing(
    COLUMNS,
    targets.map((target, at) => ({ n: at + 1, target })),
  )

function nameOf({ label, url }: { readonly label: string; readonly url: string }): string {
  return label || new URL(url).host
}

const STATES: Columns<TargetOnAir> = {
  n: ['key', ({ index }) => index + 1],
  target: ['text', nameOf],
  state: ['text', ({ status }) => status],
  since: ['since', ({ since }) => since],
  out: ['bitrate', ({ bitrateOut }) => bitrateOut],
  'live for': ['seconds', ({ liveSeconds }) => liveSeconds],
  source: ['text', ({ sourceId }) => sourceId],
  'next try': ['until', ({ retryOn }) => retryOn],
  problem: ['sentence', ({ problem, lastProblem }) => problem ?? lastProblem],
}

const ENGINE_STATES: Columns<EngineTargetNow> = {
  n: ['key', ({ index }) => index + 1],
  target: ['text', nameOf],
  state: ['text', ({ status }) => status],
  since: ['since', ({ since }) => since],
  node: ['text', ({ node }) => node],
  problem: ['sentence', ({ problem }) => problem],
}

const STREAM_OR_ENGINE = required('NAME', 'The name of the stream, or the id of an engine.')

const show = command({
  path: ['restream', 'show'],
  summary: 'Show what becomes of the targets of a stream on the air, or of an engine',
  detail:
    '`out` is what a target is sent, in bits per second. `problem` is the latest one, also if it is over. Of an engine it shows the ' +
    'latest news in its log, and the node that it runs at: GET /v2/monitoring/engines/ID there has bitrates.',
  args: { stream: STREAM_OR_ENGINE },
  flags: WATCH_FLAGS,
  examples: ['sluice restream show studio-1 --watch', 'sluice restream show en_1BvTL3PCGW4dXdKwCqFkRe --csv'],
  run: (call) =>
    withAccount<CommandAnswer>(call, async ({ ctx, accountId }) => {
      const ofEngine = await engineTargets(ctx, accountId, call.args.stream)
      if (ofEngine !== undefined) return ok({ json: ofEngine, text: listing(ENGINE_STATES, ofEngine) })
      const found = await readStreamOnAir(ctx, accountId, call.args.stream)
      if (!found.ok) return found
      const targets = found.value.restreams ?? []
      return ok({ json: targets, text: listing(STATES, targets) })
    }),
})

const EVENTS: Columns<TargetEventEntry> = {
  time: ['time', ({ at }) => at],
  n: ['key', ({ index }) => index + 1],
  target: ['text', nameOf],
  state: ['text', ({ status }) => status],
  problem: ['sentence', ({ problem }) => problem],
}

const ENGINE_EVENTS: Columns<EngineTargetEvent> = {
  time: ['time', ({ at }) => at],
  id: ['key', ({ id }) => id],
  target: ['text', nameOf],
  state: ['text', ({ status }) => status],
  problem: ['sentence', ({ problem }) => problem],
}

const events = command({
  path: ['restream', 'events'],
  summary: 'List what became of the targets of a stream or an engine, newest first',
  detail: 'Also of broadcasts that are over, for `sessions.retentionDays`; of an engine what its log has.',
  args: { stream: STREAM_OR_ENGINE },
  flags: { limit: mostEntries(100, 10_000), ...WATCH_FLAGS },
  examples: ['sluice restream events studio-1 --watch', 'sluice restream events studio-1 --limit 1000 --csv'],
  run: (call) =>
    withAccount<CommandAnswer>(call, async ({ ctx, accountId }) => {
      const { stream } = call.args
      const { limit } = call.flags
      if ((await ctx.store.read.engines.get(accountId, stream)) !== undefined) {
        const news = await engineTargetEvents(ctx, accountId, stream, limit)
        return ok({ json: news, text: listing(ENGINE_EVENTS, news) })
      }
      const found = await latestTargetEvents(ctx, accountId, stream, limit)
      return ok({ json: found, text: listing(EVENTS, found) })
    }),
})

export const restreamCommands = [list, add, remove, enable, disable, sync, show, events]
