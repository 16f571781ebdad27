import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { openApp } from '../../src/app/app.ts'
import type { Result } from '../../src/base/result.ts'
import { createSecret } from '../../src/commands/accounts/secrets.ts'
import { authorize } from '../../src/commands/access/authorize.ts'
import { createChannel } from '../../src/commands/channels/channels.ts'
import { createDistribution } from '../../src/commands/channels/distributions.ts'
import { createEngine } from '../../src/commands/channels/engines.ts'
import { findByStreamKey } from '../../src/commands/channels/ingests.ts'
import { createKey, deleteKey } from '../../src/commands/channels/keys.ts'
import { createLadder } from '../../src/commands/channels/ladders.ts'
import { createScheduler } from '../../src/commands/channels/schedules/schedulers.ts'
import { createChannelWebhook } from '../../src/commands/channels/webhooks/webhooks.ts'
import { type Actor, cliActor, type Context } from '../../src/commands/context.ts'
import { createPull } from '../../src/commands/pulls/pulls.ts'
import { createToken } from '../../src/commands/tokens/createToken.ts'
import { deleteToken } from '../../src/commands/tokens/deleteToken.ts'
import { changeDefaults } from '../../src/commands/accounts/defaults.ts'
import { revokeSelfSigned } from '../../src/commands/tokens/revokeSelfSigned.ts'
import { updateToken } from '../../src/commands/tokens/updateToken.ts'
import { createWebhook } from '../../src/commands/webhooks/webhooks.ts'
import { loadConfig } from '../../src/config/load.ts'
import { CreateChannel } from '../../src/core/channels/channelSchema.ts'
import { CreateDistribution } from '../../src/core/channels/distributionSchema.ts'
import { CreateEngineOfIngest } from '../../src/core/channels/engineSchema.ts'
import { CreateIngest } from '../../src/core/channels/ingestSchema.ts'
import { CreateLadder } from '../../src/core/channels/ladderSchema.ts'
import { CreateScheduler } from '../../src/core/channels/schedules/schema.ts'
import { CreateChannelWebhook } from '../../src/core/channels/webhooks/schema.ts'
import { CreatePull } from '../../src/core/pulls/schema.ts'
import { CreatePublishToken, CreateSubscribeToken } from '../../src/core/tokens/schema.ts'
import { isNotBuilt } from '../../src/core/validation/notBuilt.ts'
import { CreateWebhook } from '../../src/core/webhooks/schema.ts'
import { signSubscribeToken } from '../../src/sign.ts'
import { silentLog } from '../support/log.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { attemptOf } from '../support/testNode.ts'
import { command, newDirectory } from './cliProcess.ts'

const CAMERA = 'rtsp://viewer:camera-password@camera.example.com/stream'
const RULES = {
  allowedOrigins: ['https://example.com:8443'],
  allowedIpAddresses: ['198.51.100.0/24'],
  bindIpsOnUsage: 3,
  maxViewers: 40,
  allowedCountries: ['BE', 'NL'],
  endSessionsOnUpdate: false,
  endAtExpiry: true,
}
/** Each setting of a create that a file can have, with a value that is not the default, by the section of the file. */
const SAMPLES = {
  publishTokens: {
    label: 'Main stage',
    streams: [
      { streamName: 'show', isRegex: false },
      { streamName: 'camera-[0-9]+', isRegex: true },
    ],
    ...RULES,
    subscribeRequiresAuth: true,
    record: true,
    enableThumbnails: true,
    multisource: false,
    enableUTCInsertion: true,
    transcode: true,
    displaySrtPassphrase: true,
    lowLatencyRtmp: true,
    originCluster: 'auto',
    geoCascade: { isEnabled: true, clusters: ['all'] },
    priority: 5,
    recordingDays: 30,
    hlsRenditions: [{ height: 480, bitrate: 1_200_000 }],
    hlsCodecs: 'source',
    restream: [
      { url: 'rtmps://live.example.com/app', key: 'live_0123456789', label: 'Site', enabled: false, transcode: true },
      {
        url: 'srt://live.example.com:9000?streamid=studio&passphrase=correct-horse&latency=500',
        key: '',
        label: 'Studio',
        enabled: true,
        transcode: false,
      },
    ],
  },
  subscribeTokens: {
    label: 'Guests',
    streams: [{ streamName: '.*', isRegex: true }],
    ...RULES,
    tracking: { trackingId: 'partner-7' },
  },
  pulls: { tokenId: 0, streamName: 'show', url: `${CAMERA}1?a=2`, label: 'Door', enabled: false, when: 'onDemand' },
  webhooks: {
    url: 'https://hooks.example.com/sluice?key=1',
    isFeedHooks: true,
    isFeedHealthHooks: true,
    isMediaHooks: true,
    isRecordingHooks: true,
    isRestreamHooks: true,
    isThumbnailHooks: true,
    isTranscoderHooks: true,
    isViewerConnectionHooks: true,
    filter: 'studio-[0-9]+',
  },
  abrLadders: {
    name: 'Tall',
    video: [{ id: 'top', label: 'Top', width: 720, height: 1280, bitrate: 2_000_000, codec: 'h264', copy: true }],
    audio: { bitrate: 96 },
    audioOnly: true,
  },
  channels: { name: 'Main', externalIds: ['first', 'second'], timeout: 600 },
  schedulers: {
    name: 'Weekly',
    enabled: false,
    startDate: '2090-01-02',
    startTime: '20:15',
    endDate: '2091-01-02',
    endTime: '23:00',
    recurrence: 'RRULE:FREQ=WEEKLY;BYDAY=MO',
    timeZone: 'Europe/Vienna',
  },
  channelWebhooks: {
    name: 'Backend',
    url: 'https://hooks.example.com/live?key=2',
    events: ['channel.updated', 'engine.error'],
    description: 'For the backend',
    active: true,
  },
}
const DEFAULTS = { deniedCountries: ['AQ'], recordingDays: 30, geoCascade: { isEnabled: true, clusters: ['all'] } }
const INGEST = { name: 'Studio', type: 'rtmp-push' }
const PULL = { name: 'Far', type: 'rtsp-pull', url: `${CAMERA}2` }
const track = (pid: number, language: string) => ({ pid, language, label: language })
const SPOKEN = { name: 'Spoken', type: 'srt-push', tracks: { audio: [track(257, 'en'), track(258, 'de')] } }
const STUDIO = 'srt://studio.example.com:9000?passphrase=correct-horse'
const TV = { id: 'tv', url: 'rtmps://live.example.com/app', key: 'live_0123456789', label: 'TV', enabled: false }
const TARGETS = [TV, { id: 'studio', url: STUDIO, key: '', label: '', enabled: true }]
const ENGINE = { name: 'First', priority: 7, restream: TARGETS }
const DISTRIBUTION = {
  name: 'Partners',
  externalId: 'partners',
  enabled: false,
  latencies: { hls: 12 },
  outputs: { hls: true, llHls: false },
  maxBitrate: 900_000,
  security: {
    geoBlocking: { enabled: true, mode: 'allow', countries: ['NL'] },
    ipBlocking: { enabled: true, mode: 'deny', cidrs: ['192.0.2.0/24'] },
    refererBlocking: { enabled: true, allowedDomains: ['example.com'], allowNativeApps: true },
    rewriteSegmentUrls: true,
    keys: [{ key: 'a shared secret of thirty-two bytes and more', name: 'first' }],
  },
}

interface Schema {
  readonly properties: object
}

/** The settings that a create takes and Sluice has. */
const settingsIn = ({ properties }: Schema): string[] =>
  Object.entries(properties)
    .filter(([, schema]) => !isNotBuilt(schema))
    .map(([name]) => name)

test.each([
  ['publishTokens', CreatePublishToken, ['deniedCountries', 'expires']],
  ['subscribeTokens', CreateSubscribeToken, ['deniedCountries', 'expires']],
  ['pulls', CreatePull, []],
  ['webhooks', CreateWebhook, []],
  ['abrLadders', CreateLadder, []],
  ['channels', CreateChannel, ['externalId', 'ingests', 'distributions']],
  ['schedulers', CreateScheduler, ['channels', 'channelIds']],
  ['channelWebhooks', CreateChannelWebhook, []],
] as const)(
  'the sample of %s has every setting of a create, so that a new one is exported too',
  (kind, schema, apart) => {
    expect([...Object.keys(SAMPLES[kind]), ...apart].toSorted()).toEqual(settingsIn(schema).toSorted())
  },
)

test('the samples of parts of channels have every setting of a create', () => {
  expect(Object.keys({ ...SPOKEN, ...PULL, region: '' }).toSorted()).toEqual(settingsIn(CreateIngest).toSorted())
  const engine = { ...ENGINE, region: '', quality: {}, outputs: {} }
  expect(Object.keys(engine).toSorted()).toEqual(settingsIn(CreateEngineOfIngest).toSorted())
  expect(Object.keys({ ...DISTRIBUTION, endpoints: {} }).toSorted()).toEqual(settingsIn(CreateDistribution).toSorted())
})

async function must<T>(made: Promise<Result<T, unknown>>): Promise<T> {
  const result = await made
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return result.value
}

/** An account with one of everything, as the API makes it, and state that only use makes. */
async function fill(ctx: Context, actor: Actor) {
  const { publishTokens, subscribeTokens, abrLadders, schedulers } = SAMPLES
  const gone = await must(createToken(ctx, actor, 'publish', publishTokens))
  await must(deleteToken(ctx, actor, 'publish', gone.id))
  const publisher = await must(createToken(ctx, actor, 'publish', { ...publishTokens, expires: 86_400 }))
  const denied = { label: 'Main stage', streams: [{ streamName: 'other' }], deniedCountries: ['FR'] }
  const off = await must(createToken(ctx, actor, 'publish', denied))
  await must(updateToken(ctx, actor, { kind: 'publish', id: off.id }, { isActive: false }))
  const open = await must(
    createToken(ctx, actor, 'publish', {
      label: '- open: !',
      streams: [{ streamName: 'open' }],
      subscribeRequiresAuth: true,
    }),
  )
  await must(createToken(ctx, actor, 'subscribe', { ...subscribeTokens, expires: 60 }))
  const signer = await must(
    createToken(ctx, actor, 'subscribe', { label: 'Signer', streams: [{ streamName: 'open' }] }),
  )
  await must(revokeSelfSigned(ctx, actor, signer.id, { jti: 'guest-42' }))
  await must(revokeSelfSigned(ctx, actor, signer.id, { jti: 'guest-41', issuedBefore: '2026-01-31T09:30:00Z' }))
  await must(changeDefaults(ctx, actor, 'settings', DEFAULTS))
  await bind(ctx, publisher.id, ['198.51.100.7', '2001:db8::1'])
  await must(createPull(ctx, actor, { ...SAMPLES.pulls, tokenId: publisher.id }))
  await must(createWebhook(ctx, actor, SAMPLES.webhooks))
  await must(createWebhook(ctx, actor, { url: 'https://hooks.example.com/plain' }))
  const ladder = await must(createLadder(ctx, actor, abrLadders))
  const frameRate = { value: 30_000, scale: 1001 }
  const silent = { name: 'Silent', audio: null, video: [{ width: 640, height: 360, bitrate: 500_000, frameRate }] }
  await must(createLadder(ctx, actor, silent))
  const channel = await must(
    createChannel(ctx, actor, {
      ...SAMPLES.channels,
      ingests: [
        { ...INGEST, engines: [{ ...ENGINE, quality: { abrLadderId: ladder.id } }, { name: 'Second' }] },
        { ...INGEST },
        PULL,
        SPOKEN,
      ],
      distributions: [DISTRIBUTION],
    }),
  )
  await must(createEngine(ctx, actor, channel.id, { name: 'Without a source' }))
  const closed = await must(createDistribution(ctx, actor, channel.id, { name: 'Closed' }))
  const key = await must(createKey(ctx, actor, closed.id, { key: 'x'.repeat(40) }))
  await must(deleteKey(ctx, actor, closed.id, key.id))
  await must(createChannel(ctx, actor, { name: 'Main' }))
  const engineIds = channel.engines.slice(0, 1).map(({ id }) => id)
  await must(createScheduler(ctx, actor, { ...schedulers, channels: [{ channelId: channel.id, engineIds }] }))
  const begun = await must(createScheduler(ctx, actor, { ...schedulers, name: 'Begun', channelIds: [channel.id] }))
  await begin(ctx, actor.accountId, begun.id)
  await must(createChannelWebhook(ctx, actor, SAMPLES.channelWebhooks))
  await leave(ctx, actor, channel.id)
  return {
    open: open.token,
    signer: { id: signer.id, value: signer.token },
    streamKey: channel.ingests[0]?.streamKey ?? '',
    channel,
  }
}

const bind = (ctx: Context, tokenId: number, addresses: string[]) =>
  ctx.store.transaction(async (tx) => {
    for (const address of addresses) await tx.bindings.bind({ tokenId, version: 1, address, limit: 3, atMs: 1 })
  })

/** What no file carries. */
async function leave(ctx: Context, actor: Actor, channelId: string) {
  await must(createSecret(ctx, actor, 'Backend'))
  const over = { name: 'Over', startDate: '2090-01-02', startTime: '20:15', channelIds: [channelId] }
  const { id } = await must(createScheduler(ctx, actor, over))
  const image = { mediaType: 'image/png', width: 640, height: 360, durationMs: null, hasAudio: false } as const
  const media = { ...image, bytes: 1, createdAtMs: 1 }
  await ctx.store.transaction(async (tx) => {
    const scheduler = await tx.schedulers.lock(actor.accountId, id)
    if (scheduler) await tx.schedulers.replace({ ...scheduler, status: 'terminated', nextAtMs: null })
    await tx.channels.setSlate(channelId, { facts: { id: 'sl_1', ...media }, media: new Uint8Array(1) })
  })
}

/** Its first day is over, as of every scheduler that repeats. */
const begin = (ctx: Context, accountId: string, id: string) =>
  ctx.store.transaction(async (tx) => {
    const scheduler = await tx.schedulers.lock(accountId, id)
    if (scheduler) await tx.schedulers.replace({ ...scheduler, startDate: '2020-01-06' })
  })

describe.each(testedStores())('an export on %s', (engine) => {
  const root = newDirectory()
  const folder = join(root, 'files')
  const file = join(folder, 'all.yaml')
  let [old, fresh]: Place[] = []
  let made: Awaited<ReturnType<typeof fill>>
  type Side = 'old' | 'fresh'

  const env = (side: Side) => ({ SLUICE_STORAGE_URL: (side === 'old' ? old : fresh)?.url ?? '' })
  const run = (side: Side, ...argv: string[]) => command([...argv, '--data', join(root, side)], { env: env(side) })

  async function inside<T>(side: Side, work: (ctx: Context, actor: Actor) => Promise<T>): Promise<T> {
    const config = loadConfig({ env: env(side), flags: { data: { dir: join(root, side) } } })
    if (!config.ok) throw new Error(JSON.stringify(config.error))
    const app = await openApp({ config: config.value, log: silentLog })
    try {
      const [account] = await app.ctx.store.read.accounts.list()
      return await work(app.ctx, cliActor(account?.id ?? ''))
    } finally {
      await app.close()
    }
  }

  const read = () => parse(readFileSync(file, 'utf8'))
  const entriesOf = (section: object) => Object.values(section)

  beforeAll(async () => {
    ;[old, fresh] = [await newPlace(engine), await newPlace(engine)]
    mkdirSync(folder)
    made = await inside('old', fill)
    const exported = await run('old', 'provision', 'export', file)
    expect(exported).toMatchObject({ status: 0 })
  })
  afterAll(async () => {
    await old?.remove()
    await fresh?.remove()
    rmSync(root, { recursive: true })
  })

  test('has every setting of everything, with the values of secrets', () => {
    const { publishTokens, subscribeTokens, pulls, abrLadders, channels, schedulers, channelWebhooks, webhooks } =
      read()
    const expiresOn = expect.any(String)
    expect(publishTokens['Main-stage']).toMatchObject({ ...SAMPLES.publishTokens, isActive: true, expiresOn })
    expect(publishTokens['Main-stage'].boundAddresses).toEqual(['198.51.100.7', '2001:db8::1'])
    expect(publishTokens['Main-stage-2']).toMatchObject({ isActive: false, deniedCountries: ['FR'] })
    expect(publishTokens.open).toMatchObject({ label: '- open: !', value: made.open })
    expect(subscribeTokens.Guests).toMatchObject({ ...SAMPLES.subscribeTokens, expiresOn })
    expect(subscribeTokens.Signer).toMatchObject({
      value: made.signer.value,
      revokedJtis: ['guest-41', 'guest-42'],
      revokedBefore: '2026-01-31T09:30:00.000Z',
    })
    expect(pulls).toEqual({ Door: { ...SAMPLES.pulls, tokenId: publishTokens['Main-stage'].id } })
    expect(Object.values(webhooks)).toContainEqual({ ...SAMPLES.webhooks, secret: expect.any(String) })
    expect(abrLadders.Tall).toMatchObject(SAMPLES.abrLadders)
    expect(abrLadders.Silent).toMatchObject({ audio: null })
    expect(schedulers.Weekly).toMatchObject(SAMPLES.schedulers)
    const ours = { id: expect.stringMatching(/^wh_/), secret: expect.any(String) }
    expect(channelWebhooks.Backend).toEqual({ ...SAMPLES.channelWebhooks, ...ours })
    const [main] = entriesOf(channels).filter(({ id }) => id === made.channel.id)
    expect(main).toMatchObject(SAMPLES.channels)
    expect(main.ingests).toMatchObject([{ ...INGEST, streamKey: made.streamKey }, INGEST, PULL, SPOKEN])
    expect(main.ingests[0].engines).toMatchObject([ENGINE, { name: 'Second' }])
    expect(main.engines).toMatchObject([{ name: 'Without a source' }])
    expect(main.distributions).toMatchObject([DISTRIBUTION, { name: 'Closed', closedWithoutKey: true }])
  })

  test('is readable by its owner only, replaces no file, and says what it lacks', async () => {
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const before = readFileSync(file, 'utf8')
    expect(read().accountDefaults).toEqual(DEFAULTS)
    const again = await run('old', 'provision', 'export', file)
    expect(again).toMatchObject({ status: 1, stdout: '' })
    expect(again.stderr).toContain(`${file} exists already`)
    expect(readFileSync(file, 'utf8')).toBe(before)
    const printed = await run('old', 'provision', 'export', '-')
    expect(printed.stdout).toBe(before)
    const counted = ['1 API secrets', '1 slates, of these channels: Main.', '1 schedulers that are over']
    for (const lacks of [...counted, 'The ids of webhooks', 'History: sessions', 'Recordings', 'The passphrases']) {
      expect(before).toContain(`# - ${lacks}`)
      expect(printed.stderr).toContain(`- ${lacks}`)
    }
  })

  test('is what a new installation reads: another export of that is the same file, and applying it again changes nothing', async () => {
    const applied = await run('fresh', 'provision', 'apply', '--folder', folder)
    expect(applied).toMatchObject({ status: 0 })
    expect(applied.stdout).not.toContain(made.open)
    expect((await run('fresh', 'provision', 'apply', '--prune', '--folder', folder)).stdout).toBe('nothing changed\n')
    const second = join(root, 'again.yaml')
    await run('fresh', 'provision', 'export', second)
    const things = (path: string) => readFileSync(path, 'utf8').replaceAll(/^#.*\n/gm, '')
    expect(things(second)).toBe(things(file))
  })

  test('keeps what clients hold: values of tokens, what they signed, stream keys', async () => {
    await inside('fresh', async (ctx, actor) => {
      const asked = { streamName: 'open', presented: made.open }
      expect(await authorize(ctx, attemptOf(asked))).toMatchObject({ decision: { allowed: true } })
      const signer = { token: made.signer.value, tokenId: made.signer.id, streamName: 'open' }
      const sign = (jti: string) => signSubscribeToken({ ...signer, jti })
      const view = (presented: string) => authorize(ctx, attemptOf({ action: 'view', streamName: 'open', presented }))
      expect(await view(sign('guest-43'))).toMatchObject({ decision: { allowed: true } })
      expect(await view(sign('guest-42'))).toMatchObject({ decision: { allowed: false } })
      expect(await findByStreamKey(ctx, made.streamKey, 'rtmp')).toMatchObject({ id: made.channel.ingests[0]?.id })
      const later = { label: 'Later', streams: [{ streamName: 'later' }] }
      expect((await must(createToken(ctx, actor, 'publish', later))).id).toBeGreaterThan(made.signer.id)
    })
  })

  test('is refused where something else has its ids and values, and then changes nothing', async () => {
    const channels = entriesOf(read().channels)
    writeFileSync(file, JSON.stringify({ channels: { other: { ...channels[0], externalIds: [] } } }))
    const refused = await run('old', 'provision', 'apply', '--folder', folder)
    expect(refused).toMatchObject({ status: 1, stdout: expect.stringContaining('exists already') })
  })
})
