import { isoTime } from '../../base/time.ts'
import { toAccountSettings } from '../../core/accounts/requests.ts'
import { toLadderRecord } from '../../core/channels/ladder.ts'
import { CreateLadder } from '../../core/channels/ladderSchema.ts'
import { CreateScheduler } from '../../core/channels/schedules/schema.ts'
import { toChannelWebhookRecord } from '../../core/channels/webhooks/rules.ts'
import { CreateChannelWebhook } from '../../core/channels/webhooks/schema.ts'
import { settingsOf, without } from '../../core/provisioning/carried.ts'
import { difference } from '../../core/provisioning/difference.ts'
import { ProvisionNames } from '../../core/provisioning/names.ts'
import { PROVISION_KINDS, type ProvisionKind } from '../../core/provisioning/types.ts'
import { CreatePublishToken, CreateSubscribeToken } from '../../core/tokens/schema.ts'
import { NO_DEFAULTS } from '../../core/tokens/accountDefaults.ts'
import type { TokenKind } from '../../core/tokens/types.ts'
import { CreatePull } from '../../core/pulls/schema.ts'
import { toWebhookRecord } from '../../core/webhooks/rules.ts'
import { CreateWebhook } from '../../core/webhooks/schema.ts'
import type { Channel } from '../../core/channels/types.ts'
import type { ChannelWebhook, Scheduler, StoredToken } from '../../store/store.ts'
import type { Context } from '../context.ts'
import { schedulerRecord } from '../channels/schedules/schedulers.ts'
import { openTargetKeys } from '../tokens/targetKeys.ts'
import { shownToken } from '../tokens/tokenValue.ts'
import { openWebhookSecret } from '../webhooks/webhooks.ts'
import { exportChannel } from './exportChannel.ts'
import { pullSettings } from './pulls.ts'

type Settings = Readonly<Record<string, unknown>>

/** A thing of the account, with its settings as a provisioning file has them. */
interface Thing {
  readonly id: string
  /** What people call it. */
  readonly label: string
  readonly settings: Settings
}

/** The account as a provisioning file. It holds secrets. */
export interface Exported {
  readonly sections: Readonly<Record<ProvisionKind, Settings>>
  /** What the account has and the file does not, as sentences. */
  readonly left: readonly string[]
}

/** Rows that one read takes. */
const PAGE = 500

/** All settings of an account. What changes meanwhile may be missing. */
export async function exportAccount(ctx: Context, accountId: string): Promise<Exported> {
  const rows = await ctx.store.transaction((tx) => tx.provisioned.list(accountId))
  const names = new ProvisionNames(rows)
  const channels = await channelsOf(ctx, accountId)
  const schedulers = await schedulersOf(ctx, accountId)
  const things: Record<Exclude<ProvisionKind, 'accountDefaults'>, readonly Thing[]> = {
    publishTokens: await tokensOf(ctx, accountId, 'publish'),
    subscribeTokens: await tokensOf(ctx, accountId, 'subscribe'),
    pulls: await pullsOf(ctx, accountId),
    webhooks: await webhooksOf(ctx, accountId),
    abrLadders: await laddersOf(ctx, accountId),
    channels: await inTurn(channels, (channel) => exportChannel(ctx, channel)),
    schedulers: schedulers.filter((one) => one.status !== 'terminated').map(schedulerThing),
    channelWebhooks: await channelWebhooksOf(ctx, accountId),
  }
  const accountDefaults = await defaultsOf(ctx, accountId)
  const sections = PROVISION_KINDS.map((kind) => {
    const section = kind === 'accountDefaults' ? accountDefaults : sectionOf(kind, things[kind], names)
    return [kind, section] as const
  })
  return {
    sections: Object.fromEntries(sections) as Exported['sections'],
    left: await leftBehind(ctx, accountId, channels, schedulers),
  }
}

/** Without those that a new account has. */
async function defaultsOf({ store }: Context, accountId: string): Promise<Settings> {
  const settings = toAccountSettings((await store.read.accounts.defaults(accountId)) ?? NO_DEFAULTS)
  const changed = difference(settings, toAccountSettings(NO_DEFAULTS))
  return Object.fromEntries(changed.map(({ setting, to }) => [setting, to]))
}

function sectionOf(kind: ProvisionKind, things: readonly Thing[], names: ProvisionNames): Record<string, Settings> {
  const named = things.map(({ id, label, settings }) => [names.of(kind, id, label), settings] as const)
  return Object.fromEntries(named.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

const TOKEN_SCHEMAS = { publish: CreatePublishToken, subscribe: CreateSubscribeToken } as const

async function tokensOf(ctx: Context, accountId: string, kind: TokenKind): Promise<Thing[]> {
  const order = { sortBy: 'AddedOn', descending: false, limit: PAGE } as const
  const tokens = await allPages<StoredToken>((read) =>
    ctx.store.read.tokens.list({ accountId, kind, ...order, offset: read.length }),
  )
  return inTurn(tokens, (token) => tokenThing(ctx, token))
}

async function tokenThing(ctx: Context, token: StoredToken): Promise<Thing> {
  const keys = await openTargetKeys(ctx, ctx.store.read.restreamKeys, token.id)
  const record = shownToken(ctx, token, keys)
  const { revokedBeforeMs } = token
  const jtis = await ctx.store.read.revocations.list(token.id)
  const bound = await ctx.store.read.bindings.list(token.id)
  const settings = {
    id: token.id,
    ...(settingsOf(TOKEN_SCHEMAS[token.kind], record) as Settings),
    value: record.token,
    isActive: record.isActive,
    ...(record.expiresOn === undefined ? {} : { expiresOn: record.expiresOn }),
    ...(revokedBeforeMs === null ? {} : { revokedBefore: isoTime(revokedBeforeMs) }),
    ...(jtis.length === 0 ? {} : { revokedJtis: jtis.toSorted() }),
    ...(bound.length === 0 ? {} : { boundAddresses: bound.map(({ address }) => address) }),
  }
  return { id: String(token.id), label: token.label, settings }
}

async function pullsOf(ctx: Context, accountId: string): Promise<Thing[]> {
  const pulls = await ctx.store.read.pulls.list(accountId)
  return pulls.map((pull) => {
    const settings = settingsOf(CreatePull, pullSettings(ctx, pull)) as Settings
    return { id: String(pull.id), label: pull.label || pull.streamName, settings }
  })
}

async function webhooksOf(ctx: Context, accountId: string): Promise<Thing[]> {
  const webhooks = await ctx.store.read.webhooks.forAccount(accountId)
  return webhooks.map((webhook) => {
    const record = toWebhookRecord(webhook, openWebhookSecret(ctx, webhook), ctx.clock.now())
    const settings = { ...(settingsOf(CreateWebhook, record) as Settings), secret: record.secret }
    return { id: String(webhook.id), label: new URL(record.url).hostname, settings }
  })
}

async function laddersOf(ctx: Context, accountId: string): Promise<Thing[]> {
  const ladders = await ctx.store.read.abrLadders.list(accountId)
  return ladders.map((ladder) => {
    // A create without `audio` would get audio.
    const settings = { id: ladder.id, audio: null, ...(settingsOf(CreateLadder, toLadderRecord(ladder)) as Settings) }
    return { id: ladder.id, label: ladder.name, settings }
  })
}

function channelsOf({ store }: Context, accountId: string): Promise<Channel[]> {
  return allPages((read) => store.read.channels.page({ accountId, limit: PAGE, ...newestAfterLast(read) }))
}

async function schedulersOf({ store }: Context, accountId: string): Promise<Scheduler[]> {
  const order = { sortBy: 'createdAt', descending: false, limit: PAGE } as const
  return allPages((read) => {
    const last = read.at(-1)
    const after = last === undefined ? {} : { after: { key: last.createdAtMs, id: last.id } }
    return store.read.schedulers.page({ accountId, ...order, ...after })
  })
}

const schedulerThing = (scheduler: Scheduler): Thing => ({
  id: scheduler.id,
  label: scheduler.name,
  // The deprecated spelling of `channels`.
  settings: {
    id: scheduler.id,
    ...without(settingsOf(CreateScheduler, schedulerRecord(scheduler)) as Settings, ['channelIds']),
  },
})

async function channelWebhooksOf(ctx: Context, accountId: string): Promise<Thing[]> {
  const webhooks = await allPages<ChannelWebhook>((read) =>
    ctx.store.read.channelWebhooks.page({ accountId, limit: PAGE, ...newestAfterLast(read) }),
  )
  return webhooks.map((webhook) => {
    const record = toChannelWebhookRecord(webhook, ctx.clock.now())
    const settings = {
      id: webhook.id,
      ...(settingsOf(CreateChannelWebhook, record) as Settings),
      secret: openWebhookSecret(ctx, webhook),
    }
    return { id: webhook.id, label: webhook.name, settings }
  })
}

async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const done: R[] = []
  for (const item of items) done.push(await work(item))
  return done
}

/** @param page the rows after those that were read */
async function allPages<T>(page: (read: readonly T[]) => Promise<T[]>): Promise<T[]> {
  const read: T[] = []
  for (;;) {
    const more = await page(read)
    read.push(...more)
    if (more.length < PAGE) return read
  }
}

function newestAfterLast(read: readonly { readonly id: string; readonly createdAtMs: number }[]) {
  const last = read.at(-1)
  return last === undefined ? {} : { after: { atMs: last.createdAtMs, id: last.id } }
}

const ALWAYS = [
  'Recordings, the files of streams and channels: copy their folder.',
  'History: sessions, usage, runs, logs and deliveries, those that still wait included.',
  'The ids of webhooks and pulls, which are new.',
  'The passphrases of SRT, which come from the sealing key: start the new installation with this one, or give publishers the new ones.',
]

async function leftBehind(
  { store: { read } }: Context,
  accountId: string,
  channels: readonly Channel[],
  schedulers: readonly Scheduler[],
): Promise<string[]> {
  const slates = channels.filter(({ slate }) => slate !== null).map(({ name }) => name)
  const running = channels.filter(({ status }) => status !== 'stopped').map(({ name }) => name)
  const counted = [
    [(await read.secrets.list(accountId)).length, 'API secrets: make new ones.'],
    [(await read.credentials.list(accountId)).length, 'credentials of the channels API: make new ones.'],
    [(await read.users.list(accountId)).length, 'users of the dashboard, with passwords and passkeys: add them again.'],
    [schedulers.filter(({ status }) => status === 'terminated').length, 'schedulers that are over.'],
    [slates.length, `slates, of these channels: ${slates.join(', ')}. Upload them again.`],
    [running.length, `channels that run, which will be stopped: ${running.join(', ')}.`],
  ] as const
  return [...counted.filter(([count]) => count > 0).map(([count, text]) => `${count} ${text}`), ...ALWAYS]
}
