import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { AbrLadder, Channel, Distribution, Engine } from '../../src/core/channels/types.ts'
import { coded, noticeText } from '../../src/core/notices.ts'
import { Conflict, type ServedQuery, type StoredIngest, type Tx } from '../../src/store/store.ts'
import { newAccount } from './store.samples.ts'
import type { Stores } from './store.ts'

const id = (prefix: string) => `${prefix}_${randomBytes(11).toString('hex')}`
const AT = 1_750_000_000_000

export function newChannel(over: Partial<Channel> = {}): Channel {
  const blank = { accountId: 'nobody', name: 'Stage', externalIds: [], timeoutSeconds: 3600, createdAtMs: AT }
  return { id: id('ch'), status: 'stopped', slate: null, ...blank, ...over }
}

export function newIngest(channel: Channel, over: Partial<StoredIngest> = {}): StoredIngest {
  return {
    id: id('in'),
    accountId: channel.accountId,
    channelId: channel.id,
    name: 'Camera',
    type: 'rtmp-push',
    region: 'local',
    secretSealed: new Uint8Array([1, 2, 3]),
    keyHash: new Uint8Array(randomBytes(32)),
    audio: [{ pid: null, language: 'en', label: 'English' }],
    createdAtMs: AT,
    ...over,
  }
}

export function newEngine(channel: Channel, over: Partial<Engine> = {}): Engine {
  return {
    id: id('en'),
    accountId: channel.accountId,
    channelId: channel.id,
    ingestId: null,
    name: 'Main',
    region: 'local',
    abrLadderId: 'ab_default',
    priority: -5,
    restream: [{ id: 'tv', url: 'rtmps://live.example.com/app', shownKey: '••••6789', label: 'TV', enabled: true }],
    targetKeysSealed: new Uint8Array([7, 8, 9]),
    status: 'stopped',
    statusMessage: null,
    createdAtMs: AT,
    updatedAtMs: AT,
    ...over,
  }
}

export function newDistribution(channel: Channel, over: Partial<Distribution> = {}): Distribution {
  return {
    id: id('di'),
    accountId: channel.accountId,
    channelId: channel.id,
    name: 'Web',
    externalId: null,
    enabled: true,
    hlsLatencySeconds: 10,
    hls: true,
    llHls: false,
    maxBitrate: null,
    engineIds: [],
    security: {
      geoBlocking: { enabled: false, mode: 'deny', countries: [] },
      ipBlocking: { enabled: true, mode: 'allow', cidrs: ['2001:db8::/32'] },
      refererBlocking: { enabled: false, allowedDomains: [], allowNativeApps: false },
      rewriteSegmentUrls: false,
    },
    closedWithoutKey: true,
    createdAtMs: AT,
    updatedAtMs: AT,
    ...over,
  }
}

export const newLadder = (over: Partial<AbrLadder>): AbrLadder => ({
  id: id('ab'),
  accountId: 'nobody',
  name: 'Small',
  video: [{ id: '360p', label: '360p', width: 640, height: 360, bitrate: 800_000, frameRate: null }],
  audioKbps: null,
  audioOnly: false,
  createdAtMs: AT,
  updatedAtMs: AT,
  ...over,
})

export function channelSuite(stores: Stores): void {
  const write = <T>(work: (tx: Tx) => Promise<T>) => stores.store.transaction(work)
  const read = () => stores.other.read
  const channelOf = async (over: Partial<Channel> = {}) => {
    const channel = newChannel({ accountId: newAccount(), ...over })
    await write((tx) => tx.channels.insert(channel))
    return channel
  }

  describe('channels', () => {
    test('are read as they were written, and only by their account', async () => {
      const channel = await channelOf({ externalIds: ['a', '\u{1f3a5}'], timeoutSeconds: 0 })
      const parts = { ingest: newIngest(channel), engine: newEngine(channel), distribution: newDistribution(channel) }
      const ladder = newLadder({ accountId: channel.accountId, audioKbps: 128, audioOnly: true })
      await write(async (tx) => {
        await tx.ingests.insert(parts.ingest)
        await tx.engines.insert(parts.engine)
        await tx.distributions.insert(parts.distribution)
        await tx.abrLadders.insert(ladder)
      })
      const of = async (account: string) => [
        await read().channels.get(account, channel.id),
        await read().ingests.get(account, parts.ingest.id),
        await read().engines.get(account, parts.engine.id),
        await read().distributions.get(account, parts.distribution.id),
        await read().abrLadders.get(account, ladder.id),
      ]
      const { ingest, engine, distribution } = parts
      expect(await of(channel.accountId)).toEqual([channel, ingest, engine, distribution, ladder])
      expect(await of(newAccount())).toEqual(Array(5).fill(undefined))
      expect(await read().distributions.find(distribution.id)).toEqual(distribution)
      expect(await read().ingests.findByKeyHash(ingest.keyHash ?? new Uint8Array())).toEqual(ingest)
      expect([...(await read().channels.timeouts([channel.id, 'ch_nothing']))]).toEqual([[channel.id, 0]])
      const { keyHash, type, audio } = ingest
      expect([...(await read().ingests.pushRules([ingest.id, 'in_nothing']))]).toEqual([
        [ingest.id, { keyHash, type, audio }],
      ])
    })

    test('have parts that are written many at a time, counted, and read for several parents', async () => {
      const [channel, other] = [await channelOf(), await channelOf()]
      const ingests = Array.from({ length: 101 }, () => newIngest(channel))
      const engines = [1, 2].map((n) => newEngine(channel, { createdAtMs: AT + n }))
      const distributions = [newDistribution(channel), newDistribution(channel), newDistribution(other)]
      const keys = [3, 1, 2].map((n, at) => ({
        id: id('ke'),
        accountId: channel.accountId,
        distributionId: distributions[at]?.id ?? '',
        name: null,
        keySealed: new Uint8Array([n]),
        createdAtMs: AT + n,
      }))
      await write(async (tx) => {
        await tx.ingests.insert(...ingests)
        await tx.engines.insert(...engines)
        await tx.distributions.insert(...distributions)
        await tx.distributionKeys.insert(...keys)
        await tx.distributions.insert()
      })
      const { ingests: ofIngests, engines: ofEngines, distributions: ofDistributions, distributionKeys } = read()
      const counts = [ofIngests, ofEngines, ofDistributions].map((parts) => parts.count(channel.id))
      expect(await Promise.all(counts)).toEqual([101, 2, 2])
      expect(await ofEngines.ofChannel(channel.id)).toEqual(engines)
      const [first, last] = engines
      const page = async (of: { channelId: string } | { ingestId: string }) =>
        (await ofEngines.page({ ...of, limit: 9 })).map((one) => one.id)
      expect(await page({ channelId: channel.id })).toEqual([last?.id, first?.id])
      expect(await page({ channelId: newChannel().id })).toEqual([])
      const ingestId = newIngest(channel).id
      await write(async (tx) => {
        for (const one of engines.slice(0, 1)) await tx.engines.replace({ ...one, ingestId, abrLadderId: channel.id })
        expect(await tx.engines.usingLadder(channel.id)).toMatchObject({ id: first?.id })
        expect(await tx.engines.usingLadder(ingestId)).toBeUndefined()
      })
      expect(await page({ ingestId })).toEqual([first?.id])
      expect(await page({ ingestId: channel.id })).toEqual([])
      expect(await ofEngines.all([engines[1]?.id ?? '', 'en_nothing'])).toEqual([engines[1]])
      const ids = distributions.map((one) => one.id)
      expect(await distributionKeys.list(...ids)).toEqual([keys[1], keys[2], keys[0]])
      expect(await distributionKeys.list()).toEqual([])
      await write((tx) => tx.distributionKeys.clear(ids[0] ?? ''))
      expect(await distributionKeys.list(...ids)).toEqual([keys[1], keys[2]])
    })

    test('are replaced without their status, which has its own verb', async () => {
      const channel = await channelOf({ externalIds: ['old', 'kept'] })
      const [engine, stopped] = [newEngine(channel), newEngine(channel, { createdAtMs: AT + 9 })]
      const sentences = [coded('engine_dropped', { frames: 7 })]
      const message = { text: noticeText(sentences), sentences }
      await write(async (tx) => {
        await tx.engines.insert(engine, stopped)
        await tx.engines.setStatus(engine.id, 'playing', message)
        await tx.channels.setStatus(channel.id, 'playing')
        await tx.channels.replace({ ...channel, name: 'Renamed', externalIds: ['kept', 'new'] })
        await tx.engines.replace({ ...engine, name: 'Renamed', priority: 3 })
      })
      expect(await read().channels.get(channel.accountId, channel.id)).toMatchObject({
        name: 'Renamed',
        externalIds: ['kept', 'new'],
        status: 'playing',
      })
      const [stored, other] = await read().engines.ofChannel(channel.id)
      expect(stored).toMatchObject({ name: 'Renamed', priority: 3, status: 'playing', statusMessage: message })
      expect(other).toEqual(stopped)
      // Another version wrote the text, and left the sentences.
      await write((tx) => tx.engines.setStatus(stopped.id, 'stopped', { text: 'Another.', sentences }))
      const [, told] = await read().engines.ofChannel(channel.id)
      expect(told?.statusMessage).toEqual({ text: 'Another.', sentences: [] })
      const unstopped = async () => (await read().engines.unstopped()).map(({ id }) => id)
      expect(await unstopped()).toContain(engine.id)
      expect(await unstopped()).not.toContain(stopped.id)
      const found = (externalId: string) => read().channels.page({ accountId: channel.accountId, externalId, limit: 9 })
      expect(await found('old')).toEqual([])
      expect(await found('new')).toHaveLength(1)
    })

    test('have external ids that are unique in the account', async () => {
      const channel = await channelOf({ externalIds: ['mine'] })
      const { accountId } = channel
      const other = newChannel({ accountId, externalIds: ['free', 'mine'] })
      const taken = write((tx) => tx.channels.insert(other))
      await expect(taken).rejects.toBeInstanceOf(Conflict)
      expect(await read().channels.get(accountId, other.id)).toBeUndefined()
      await channelOf({ externalIds: ['mine'] })
      await write((tx) => tx.channels.delete(channel.id))
      await channelOf({ accountId, externalIds: ['mine'] })
    })

    test('are deleted with all their parts and nothing else', async () => {
      const channel = await channelOf({ externalIds: ['x'] })
      const [gone, kept] = [newDistribution(channel), await channelOf()]
      const keptIngest = newIngest(kept)
      const key = { accountId: channel.accountId, distributionId: gone.id, keySealed: new Uint8Array([1]) }
      await write(async (tx) => {
        await tx.ingests.insert(newIngest(channel))
        await tx.engines.insert(newEngine(channel))
        await tx.distributions.insert(gone)
        await tx.distributionKeys.insert({ ...key, id: id('ke'), name: null, createdAtMs: AT })
        await tx.ingests.insert(keptIngest)
      })
      await write((tx) => tx.channels.delete(channel.id))
      expect(await read().channels.get(channel.accountId, channel.id)).toBeUndefined()
      expect(await read().ingests.ofChannel(channel.id)).toEqual([])
      expect(await read().engines.ofChannel(channel.id)).toEqual([])
      expect(await read().distributions.ofChannel(channel.id)).toEqual([])
      expect(await read().distributionKeys.list(gone.id)).toEqual([])
      expect(await read().ingests.ofChannel(kept.id)).toEqual([keptIngest])
    })

    test('have one slate: another one takes its place, and its file is gone with it', async () => {
      const { accountId, id: channelId } = await channelOf()
      const image = { mediaType: 'image/png', width: 64, height: 36, durationMs: null, hasAudio: false } as const
      const slate = (byte: number) => ({
        facts: { ...image, id: id('sl'), bytes: 1, createdAtMs: AT },
        media: new Uint8Array([byte]),
      })
      const [first, second] = [slate(1), slate(2)]
      const shown = async () => (await read().channels.get(accountId, channelId))?.slate
      const files = () => Promise.all([first, second].map(({ facts }) => read().slates.media(facts.id)))
      await write((tx) => tx.channels.setSlate(channelId, first))
      expect([await shown(), await files()]).toEqual([first.facts, [first.media, undefined]])
      await write((tx) => tx.channels.setSlate(channelId, second))
      expect([await shown(), await files()]).toEqual([second.facts, [undefined, second.media]])
      await write((tx) => tx.channels.setSlate(channelId, null))
      expect([await shown(), await files()]).toEqual([null, [undefined, undefined]])
    })

    test('use ladders, of which one is deleted and the others stay', async () => {
      const accountId = newAccount()
      const [gone, kept] = [newLadder({ accountId }), newLadder({ accountId })]
      await write(async (tx) => {
        for (const ladder of [gone, kept]) await tx.abrLadders.insert(ladder)
        await tx.abrLadders.delete(gone.id)
      })
      expect(await read().abrLadders.list(accountId)).toEqual([kept])
    })

    test('are found by name, by part of it in any case, by id, by status', async () => {
      const accountId = newAccount()
      const [stage, studio] = [
        await channelOf({ accountId, name: 'Main_Stage 100%', createdAtMs: AT }),
        await channelOf({ accountId, name: 'Studio', createdAtMs: AT + 1 }),
      ]
      await write((tx) => tx.channels.setStatus(studio.id, 'playing'))
      const names = async (filter: object) =>
        (await read().channels.page({ accountId, limit: 9, ...filter })).map(({ name }) => name)
      expect(await names({})).toEqual(['Studio', 'Main_Stage 100%'])
      expect(await names({ name: 'Studio' })).toEqual(['Studio'])
      expect(await names({ search: 'main_stage' })).toEqual(['Main_Stage 100%'])
      expect(await names({ search: '%' })).toEqual(['Main_Stage 100%'])
      expect(await names({ search: 'mainxstage' })).toEqual([])
      expect(await names({ search: stage.id })).toEqual(['Main_Stage 100%'])
      expect(await names({ statuses: ['playing', 'error'] })).toEqual(['Studio'])
      expect(await names({ ids: [stage.id, 'ch_none'] })).toEqual(['Main_Stage 100%'])
    })

    test('sum served bytes by time, distribution, country and viewer', async () => {
      const { accountId, id: channelId } = await channelOf()
      const distributionId = id('di')
      const of = { accountId, channelId, distributionId, slotMs: 900_000, country: 'NZ', trackingId: '' }
      const row = { ...of, bytesOut: 5, viewedMs: 2000 }
      const add = (...rows: (typeof row)[]) => write((tx) => tx.served.add(rows))
      await Promise.all([
        add(row, { ...row, country: '' }),
        add(row),
        add({ ...row, trackingId: 't', bytesOut: 1, viewedMs: 0 }),
      ])
      await add({ ...row, distributionId: id('di'), slotMs: 9_900_000, trackingId: 'u', bytesOut: 7, viewedMs: 9 })
      const sum = async (query: Partial<ServedQuery>) => {
        const slot = { stepMs: 900_000, offsetMs: 0 }
        const all = { fromMs: 0, untilMs: 10_000_000, groupBy: ['slotMs' as const], slot, limit: 100 }
        const rows = await read().served.sum({ ...all, ...query })
        return rows.map((sum) => [sum.slotMs, sum.country, sum.trackingId, sum.bytesOut, sum.viewedMs])
      }
      expect(await sum({ distributionId, groupBy: ['country', 'trackingId'] })).toEqual([
        [0, '', '', 5, 2000],
        [0, 'NZ', '', 10, 4000],
        [0, 'NZ', 't', 1, 0],
      ])
      expect(await sum({ channelId })).toEqual([
        [900_000, '', '', 16, 6000],
        [9_900_000, '', '', 7, 9],
      ])
      // The second hour, an hour and a half east, begins at half past one.
      const east = { stepMs: 3_600_000, offsetMs: 5_400_000 }
      expect(await sum({ channelId, slot: east })).toEqual([
        [-1_800_000, '', '', 16, 6000],
        [9_000_000, '', '', 7, 9],
      ])
      expect(await sum({ channelId, fromMs: 900_001 })).toEqual([[9_900_000, '', '', 7, 9]])
      expect(await sum({ channelId, distributionIds: [distributionId], untilMs: 900_000 })).toEqual([])
      expect(await sum({ channelId, distributionIds: ['di_other'] })).toEqual([])
      const tracked = { channelId, groupBy: ['trackingId' as const], afterTrackingId: '' }
      expect(await sum({ ...tracked, limit: 1 })).toEqual([[0, '', 't', 1, 0]])
      expect(await sum({ ...tracked, viewed: true })).toEqual([[0, '', 'u', 7, 9]])
      expect(await sum({ ...tracked, afterTrackingId: 't' })).toEqual([[0, '', 'u', 7, 9]])
    })

    test('tell how many of the served bytes caches sent', async () => {
      const { accountId, id: channelId } = await channelOf()
      const of = { accountId, channelId, distributionId: id('di'), slotMs: 0, country: '', viewedMs: 0 }
      const row = { ...of, trackingId: '', bytesOut: 5, bytesFromCaches: 3 }
      await write((tx) => tx.served.add([row, { ...of, trackingId: 't', bytesOut: 1 }]))
      await write((tx) => tx.served.add([{ ...row, bytesFromCaches: 2 }]))
      const slot = { stepMs: 900_000, offsetMs: 0 }
      const all = { channelId, fromMs: 0, untilMs: 1, groupBy: ['trackingId' as const], slot, limit: 10 }
      expect(await read().served.sum(all)).toMatchObject([
        { trackingId: '', bytesOut: 10, bytesFromCaches: 5 },
        { trackingId: 't', bytesOut: 1, bytesFromCaches: 0 },
      ])
    })

    test('prune served bytes before a time, and no others', async () => {
      const { accountId, id: channelId } = await channelOf()
      const row = {
        accountId,
        channelId,
        distributionId: id('di'),
        country: '',
        trackingId: '',
        bytesOut: 5,
        viewedMs: 0,
      }
      await write((tx) => tx.served.add([1, 2, 3].map((slot) => ({ ...row, slotMs: slot * 900_000 }))))
      expect(await write((tx) => tx.served.prune(1_800_000, 100))).toBeGreaterThan(0)
      expect(await write((tx) => tx.served.prune(1_800_000, 100))).toBe(0)
      const slot = { stepMs: 900_000, offsetMs: 0 }
      const left = { channelId, fromMs: 0, untilMs: 9e9, groupBy: ['slotMs' as const], slot, limit: 10 }
      expect(await read().served.sum(left)).toHaveLength(2)
    })
  })
}
