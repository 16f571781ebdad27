import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { RtmpClient } from '../media/rtmp/client.ts'
import { type CallOptions, SrtCaller } from '../media/srt/caller.ts'
import { endChildren, pushTo } from '../support/channels.ts'
import { type ChannelsClient, credential, runChannels } from '../support/channelsClient.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { until } from '../support/until.ts'

const VIDEO = [{ label: '90p', width: 160, height: 90, bitrate: 100_000 }]

describe.each(testedStores())('an ingest that publishers push to over SRT, on %s', (engine) => {
  let place: Place
  let live: ChannelsClient
  let abrLadderId: string
  const ends: (() => unknown)[] = []

  beforeAll(async () => {
    place = await newPlace(engine)
    live = await runChannels({ flags: { storage: { url: place.url } } })
    abrLadderId = (await live.made('POST', '/abr', { name: 'tiny', video: VIDEO })).id
  })
  afterEach(async () => {
    endChildren()
    for (const end of ends.splice(0).reverse()) await end()
  })
  afterAll(async () => {
    await live.close()
    await place.remove()
  })

  interface Made {
    readonly id: string
    readonly ingestId: string
    readonly key: string
    readonly passphrase: string
    /** Where ffmpeg pushes to. */
    readonly address: string
    readonly playlist: string
  }

  async function makeChannel(type = 'srt-push'): Promise<Made> {
    const engines = [{ name: 'Main', quality: { abrLadderId } }]
    const parts = { ingests: [{ name: 'Camera', type, engines }], distributions: [{ name: 'Web' }] }
    const { id, ingests, distributions } = await live.made('POST', '/channels', { name: 'Stage', ...parts })
    ends.push(() => live.v2('POST', `/channels/${id}/stop`))
    const [{ id: ingestId, streamKey: key, url }] = ingests
    const { search, searchParams } = new URL(url)
    return {
      id,
      ingestId,
      key,
      passphrase: searchParams.get('passphrase') ?? '',
      address: `srt://127.0.0.1:${live.running.srtPort}${search}`,
      playlist: `${live.running.base}/v2/distributions/${distributions[0].id}/hls/main.m3u8`,
    }
  }

  const monitored = (ingestId: string) => live.made('GET', `/monitoring/ingests/${ingestId}`)
  const connected = (ingestId: string) => until(async () => (await monitored(ingestId)).status === 'connected')

  async function call(options: CallOptions): Promise<SrtCaller> {
    const caller = await SrtCaller.call(live.running.srtPort ?? 0, options)
    ends.push(() => caller.leave())
    return caller
  }

  test('plays what ffmpeg sends to its address, and a new key cuts the publisher of the old one', async () => {
    const { id, ingestId, address, playlist } = await makeChannel()
    await live.made('POST', `/channels/${id}/start`)
    const publisher = pushTo(address)
    const gone = once(publisher, 'exit')
    await until(async () => (await fetch(playlist)).ok, 'a playlist of the channel')
    expect(await monitored(ingestId)).toMatchObject({ status: 'connected', protocol: 'srt' })
    const measured = () => until(async () => (await monitored(ingestId)).metrics.at(-1))
    await until(async () => (await measured()).rtt !== null && (await measured()).packetLoss !== null)
    const { packetLoss, rtt, bitrate } = await measured()
    expect([packetLoss < 1, rtt >= 0, bitrate.total > 0]).toEqual([true, true, true])
    const rotated = await live.made('POST', `/ingests/${ingestId}/rotate-key`)
    await gone
    expect((await call({ streamId: new URL(address).searchParams.get('streamid') ?? '' })).answer).toBe(1401)
    expect((await call({ streamId: `live/${rotated.streamKey}` })).answer).toBe(0)
  })

  test('opens with its own passphrase, in the clear too, and over no other protocol', async () => {
    const { ingestId, key, passphrase } = await makeChannel()
    const streamId = `live/${key}`
    expect(passphrase).toMatch(/^[\w-]{32}$/)
    expect((await call({ streamId, passphrase: 'another-passphrase' })).answer).toBe(1010)
    expect((await call({ streamId: `${streamId}?e` })).answer).toBe(1011)
    expect((await call({ streamId: `live/${'0'.repeat(32)}`, passphrase })).answer).toBe(1401)
    expect((await call({ streamId: `#!::r=live/${key},m=publish`, passphrase })).answer).toBe(0)
    await connected(ingestId)
    expect((await call({ streamId })).answer).toBe(0)
    const rtmp = await RtmpClient.open(live.running.rtmpPort ?? 0)
    ends.push(() => rtmp.socket.destroy())
    await expect(rtmp.publish('live', key)).rejects.toThrow('Invalid stream key')
    const { key: rtmpKey } = await makeChannel('rtmp-push')
    expect((await call({ streamId: `live/${rtmpKey}` })).answer).toBe(1401)
  })

  test('shows neither key nor passphrase to a credential of scope read', async () => {
    const { ingestId, key, passphrase } = await makeChannel()
    const authorization = await credential(live.running, 'read')
    const { text, json } = await live.v2('GET', `/ingests/${ingestId}`, undefined, { authorization })
    expect(json.data).toMatchObject({ type: 'srt-push', url: 'srt://localhost:10000' })
    expect(text).not.toContain(key)
    expect(text).not.toContain(passphrase)
    const audited = await live.running.app.ctx.store.read.audit.recent(live.running.accountId, 100)
    expect(JSON.stringify(audited)).not.toContain(passphrase)
  })
})
