import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/log.ts'
import { encoded } from '../media/ffmpeg/frames.ts'
import { RtmpClient } from '../media/rtmp/client.ts'
import { enhancedMessages } from '../media/rtmp/enhanced.ts'
import { aacConfig, audioFrame, avcConfig, videoFrame } from '../media/rtmp/media.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { leafOf, trustedAuthority, writePair } from '../support/certificates.ts'
import { ownPort } from '../support/ownPort.ts'
import { TestPublisher } from '../support/rtcPeer.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'
import { makeToken } from '../support/testNode.ts'
import { eventually, until } from '../support/until.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-restream-'))
const webrtc = { host: '127.0.0.1', port: 0 }
const media = { allowedNetworks: ['127.0.0.0/8'] }
const log: string[] = []
let source: RunningApp
let target: RunningApp
let targetToken: string

beforeAll(async () => {
  const tls = writePair(dir, await leafOf(await trustedAuthority()))
  source = await runApp({
    flags: { webrtc, media },
    log: createLogger({ level: 'debug', format: 'json', destination: { write: (line) => void log.push(line) } }),
  })
  target = await runApp({ flags: { webrtc, tls, rtmp: { tlsPort: await ownPort() } } })
  targetToken = (await makeToken(target, 'publish')).token
})
afterAll(async () => {
  await source.close()
  await target.close()
  rmSync(dir, { recursive: true })
})

const at = (port: number | null) => `rtmp://127.0.0.1:${port}/v2/pub`
const keyOf = (streamName: string) => `${streamName}?token=${targetToken}`
const feeds = (app: RunningApp) => app.app.ctx.sessions.feeds.all()
const onAir = async (streamName: string) =>
  (await source.call('GET', `/api/streams/live?streamName=${streamName}`)).json.data
const NOT_ALLOWED = expect.stringContaining('an address that no target may have')

/** What analytics has of a stream from yesterday until tomorrow. */
async function totals(app: RunningApp, streamName: string) {
  const day = (ahead: number) => new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 10)
  const path = `/api/analytics/streams/total?streamNames=${streamName}&startDate=${day(-1)}&stopDate=${day(2)}`
  return (await app.call('GET', path)).json.data[streamName]
}

const arrived = (streamName: string) => feeds(target).find((feed) => feed.streamName === streamName)

/** A token whose broadcasts go on to the target under the name. */
const sentTo = (streamName: string, more: object = {}) =>
  makeToken(source, 'publish', { restream: [{ url: at(target.rtmpPort), key: keyOf(streamName), ...more }] })

async function publish(streamName: string, token: string, more = ''): Promise<RtmpClient> {
  const client = await RtmpClient.open(source.rtmpPort ?? 0)
  await client.publish('v2/pub', `${streamName}?token=${token}${more}`)
  client.send(avcConfig(), aacConfig(), videoFrame(0), audioFrame(10))
  return client
}

/** The codecs that arrive, when there are two. */
async function arriving(name: string): Promise<string[]> {
  const feed = await until(() => arrived(name))
  let codecs: string[] = []
  feed.media.subscribe({
    tracks: (tracks) => (codecs = tracks.map(({ codec }) => codec)),
    frame: () => undefined,
    end: () => undefined,
  })
  await until(() => codecs.length === 2)
  return codecs.toSorted()
}

describe('a broadcast with a target', () => {
  test('is on the air at the target, and is off there when it ends', async () => {
    const { token } = await sentTo('copy')
    const client = await publish('show', token)
    const feed = await until(() => arrived('copy'))
    const frames: number[] = []
    feed.media.subscribe({
      tracks: () => undefined,
      frame: ({ decodeTimeUs }) => frames.push(decodeTimeUs / 1000),
      end: () => frames.push(-1),
    })
    client.send(videoFrame(40, 100, { key: false }), audioFrame(50), videoFrame(80, 100, { key: false }))
    await until(() => frames.includes(80))
    client.socket.destroy()
    await until(() => frames.at(-1) === -1)
    await until(() => arrived('copy') === undefined)
    expect(frames).toEqual([0, 10, 40, 50, 80, -1].slice(-frames.length))
  })

  test('ends there with its token', async () => {
    const { token, id } = await sentTo('doomed')
    await publish('doomed', token)
    await until(() => arrived('doomed'))
    expect((await source.call('DELETE', `/api/publish_token/${id}`)).status).toBe(200)
    await until(() => arrived('doomed') === undefined)
  })

  test('has each change of its target recorded, the newest first, and its bitrate measured', async () => {
    const { token } = await sentTo('logged-events', { label: 'Copy' })
    const client = await publish('events', token)
    await until(() => arrived('logged-events'))
    const data = async () => (await source.call('GET', '/api/streams/events/restream-events')).json.data
    await eventually(async () => {
      client.send(videoFrame(40, 50_000, { key: true }))
      const [stream] = await onAir('events')
      expect(stream.restreams[0]).toMatchObject({ status: 'live', bitrateOut: expect.any(Number) })
      expect(stream.restreams[0].liveSeconds).toBeGreaterThan(0)
    })
    client.socket.destroy()
    await eventually(async () => {
      expect((await data()).map(({ status }: { status: string }) => status)).toEqual(['off', 'live', 'connecting'])
    })
    const [{ feedId }] = await data()
    expect((await data())[1]).toMatchObject({ index: 0, label: 'Copy', url: at(target.rtmpPort), status: 'live' })
    expect(await source.app.ctx.store.read.restreamEvents.ofFeeds(source.accountId, [feedId])).toHaveLength(3)
  })

  test('gets a target while it runs, and loses it', async () => {
    const { token, id } = await makeToken(source, 'publish')
    const client = await publish('later', token)
    await until(() => feeds(source).some(({ streamName }) => streamName === 'later'))
    const set = (restream: object[]) => source.call('PUT', `/api/v2/publish_token/${id}`, { restream })
    expect((await set([{ url: at(target.rtmpPort), key: keyOf('later') }])).status).toBe(200)
    await until(() => arrived('later'))
    expect((await set([])).status).toBe(200)
    await until(() => arrived('later') === undefined)
    client.socket.destroy()
  })

  test('is not sent on when its publisher does not want it', async () => {
    const { token } = await sentTo('private')
    const client = await publish('private', token, '&noRestream')
    const [stream] = await until(async () => (await onAir('private')).length > 0 && onAir('private'))
    expect(stream).not.toHaveProperty('restreams')
    client.socket.destroy()
  })

  test('from a page over WHIP arrives as H.264, with silence where it has no audio', async () => {
    const { token } = await sentTo('page')
    const publisher = new TestPublisher('h264')
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/sdp' }
    const body = await publisher.offer()
    const answer = await fetch(`${source.base}/api/whip/page`, { method: 'POST', headers, body })
    await publisher.accept(await answer.text())
    publisher.play()
    expect(await arriving('page')).toEqual(['aac', 'h264'])
    await fetch(new URL(answer.headers.get('location') ?? '', source.base), { method: 'DELETE' })
    await until(() => arrived('page') === undefined)
    await publisher.close()
  })

  test('goes over TLS to a target whose certificate is right', async () => {
    const url = `rtmps://127.0.0.1:${target.rtmpsPort}/v2/pub`
    const { token } = await sentTo('secret', { url })
    const client = await publish('secret', token)
    await until(() => arrived('secret'))
    client.socket.destroy()
    await until(() => arrived('secret') === undefined)
  })

  test('has what it sent counted beside the bytes of publishers and viewers', async () => {
    const { token } = await sentTo('counted')
    const client = await publish('counted', token)
    await until(() => arrived('counted'))
    for (let at = 1; at <= 200; at++) client.send(videoFrame(at * 40, 10_000, { key: at % 25 === 0 }))
    const sessionId = arrived('counted')?.sessionId ?? ''
    await until(() => (target.app.ctx.sessions.get(sessionId)?.bytes.bytesIn ?? 0) > 2_000_000)
    client.socket.destroy()
    await until(() => arrived('counted') === undefined)
    const [there, here] = [await totals(target, 'counted'), await totals(source, 'counted')]
    expect(there.standardStream.bytesIn).toBeGreaterThan(2_000_000)
    expect(Math.abs(here.restream.bytesOut / there.standardStream.bytesIn - 1)).toBeLessThan(0.02)
    expect(here.restream.bytesIn).toBeGreaterThan(0)
    expect(here.bytesOut).toBeLessThan(here.restream.bytesOut / 2)
    expect(there.restream).toEqual({ secondsUsed: 0, bytesIn: 0, bytesOut: 0 })
  })
})

/** The address of a stream at the target, over SRT. */
const srtAt = (port: number | null, streamName: string, more = '') =>
  `srt://127.0.0.1:${port}?streamid=${streamName}%3Ftoken%3D${targetToken}${more}`

describe('a target over SRT', () => {
  test('gets the broadcast encrypted, and loses it with its token', async () => {
    const made = await makeToken(target, 'publish', { displaySrtPassphrase: true })
    const url = `srt://127.0.0.1:${target.srtPort}?streamid=sealed%3Ft%3D${made.token}%26e&passphrase=${made.srtPassphrase}`
    const { token, id } = await makeToken(source, 'publish', { restream: [{ url }] })
    const client = await publish('sealed', token)
    const feed = await until(() => arrived('sealed'))
    const frames: number[] = []
    feed.media.subscribe({
      tracks: () => undefined,
      frame: ({ data }) => frames.push(data.length),
      end: () => frames.push(-1),
    })
    client.send(videoFrame(40, 30_000), audioFrame(50))
    await until(() => frames.length >= 2 && frames.some((bytes) => bytes > 30_000))
    expect(await onAir('sealed')).toMatchObject([{ restreams: [{ status: 'live' }] }])
    const secret = [made.token, made.srtPassphrase ?? '']
    expect(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })).not.toContain(secret[1])
    expect((await source.call('DELETE', `/api/publish_token/${id}`)).status).toBe(200)
    await until(() => frames.at(-1) === -1)
    await until(() => arrived('sealed') === undefined)
    for (const one of secret) expect(log.join('\n')).not.toContain(one)
    client.socket.destroy()
  })

  test('gets HEVC and Opus as they are', async () => {
    const { token } = await makeToken(source, 'publish', { restream: [{ url: srtAt(target.srtPort, 'wide') }] })
    const publisher = await RtmpPublisher.start(
      `${at(source.rtmpPort)}/wide?token=${token}`,
      systemClock,
      enhancedMessages(await encoded({ video: 'hevc', audio: 'opus', seconds: 4, gop: 25 })),
    )
    expect(await arriving('wide')).toEqual(['hevc', 'opus'])
    publisher.end()
    await until(() => arrived('wide') === undefined)
  })

  test('that has another passphrase waits, and says so', async () => {
    const restream = [{ url: srtAt(target.srtPort, 'closed', '&passphrase=not-the-passphrase') }]
    const { token } = await makeToken(source, 'publish', { restream })
    const client = await publish('closed', token)
    await eventually(async () => {
      expect(await onAir('closed')).toMatchObject([
        { restreams: [{ status: 'waiting', problem: 'The other side has another passphrase (SRT code 1010)' }] },
      ])
    })
    client.socket.destroy()
    await until(() => !feeds(source).some(({ streamName }) => streamName === 'closed'))
  })

  test('shows the ends of its secrets alone, which an update keeps', async () => {
    const url = srtAt(9999, 'shown', '&passphrase=correct-horse')
    const made = await source.call('POST', '/api/publish_token', {
      label: 'x',
      streams: [{ streamName: 'x' }],
      restream: [{ url }],
    })
    const shown = `srt://127.0.0.1:9999?streamid=••••${targetToken.slice(-4)}&passphrase=••••rse`
    const { id, restream } = made.json.data
    expect(restream).toEqual([{ url: shown, key: '', label: '', enabled: true, transcode: false }])
    const path = `/api/publish_token/${id}`
    const answers = [
      await source.call('PUT', path, { restream: [{ ...restream[0], label: 'Studio' }] }),
      await source.call('GET', path),
      await source.call('GET', '/api/publish_token/list'),
    ]
    expect(answers[1]?.json.data.restream).toEqual([{ ...restream[0], label: 'Studio' }])
    const audit = await source.app.ctx.store.read.audit.recent(source.accountId, 100)
    expect(JSON.stringify([made, ...answers, audit])).not.toMatch(new RegExp(`correct-horse|${targetToken}`))
    await source.call('DELETE', path)
  })
})

describe('media that RTMP does not carry', () => {
  const broadcast = async (name: string, token: string, video: 'h264' | 'vp8' | 'hevc') =>
    RtmpPublisher.start(
      `${at(source.rtmpPort)}/${name}?token=${token}`,
      systemClock,
      enhancedMessages(await encoded({ video, audio: 'opus', seconds: 4, gop: 25 })),
    )

  test('but enhanced RTMP does goes as it is to a target that takes it, and as H.264 where the target asks', async () => {
    const { token } = await makeToken(source, 'publish', {
      restream: [
        { url: at(target.rtmpPort), key: keyOf('hevc') },
        { url: at(target.rtmpPort), key: keyOf('hevc-encoded'), transcode: true },
      ],
    })
    const publisher = await broadcast('modern', token, 'hevc')
    expect(await arriving('hevc')).toEqual(['aac', 'hevc'])
    expect(await arriving('hevc-encoded')).toEqual(['aac', 'h264'])
    expect(await onAir('modern')).toMatchObject([{ restreams: [{ status: 'live' }, { status: 'live' }] }])
    publisher.end()
    await until(() => arrived('hevc') === undefined && arrived('hevc-encoded') === undefined)
  })

  test('is converted: Opus becomes AAC, and the key is in no list of processes', async () => {
    const { token } = await sentTo('sound')
    const publisher = await broadcast('sound', token, 'h264')
    expect(await arriving('sound')).toEqual(['aac', 'h264'])
    expect(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })).not.toContain(targetToken)
    publisher.end()
    await until(() => arrived('sound') === undefined)
  })

  test('may come in the middle of a broadcast, and goes on as it is, also after one that the target lacks', async () => {
    const { token } = await sentTo('switched')
    const client = await publish('switch', token)
    expect(await arriving('switched')).toEqual(['aac', 'h264'])
    client.send(...enhancedMessages(await encoded({ video: 'hevc', audio: 'aac', seconds: 4, gop: 25 })))
    await eventually(async () => expect(await arriving('switched')).toEqual(['aac', 'hevc']))
    client.send(...enhancedMessages(await encoded({ video: 'vp8', audio: 'aac', seconds: 1, gop: 25 })))
    await eventually(async () => expect(await onAir('switch')).toMatchObject([{ restreams: [{ status: 'failed' }] }]))
    client.send(...enhancedMessages(await encoded({ video: 'h264', audio: 'aac', seconds: 4, gop: 25 })))
    await eventually(async () => expect(await arriving('switched')).toEqual(['aac', 'h264']))
    client.socket.destroy()
    await until(() => arrived('switched') === undefined)
  })

  test('is named where it is video, unless the target asks for another encoding', async () => {
    const { token } = await makeToken(source, 'publish', {
      restream: [
        { url: at(target.rtmpPort), key: keyOf('as-it-is') },
        { url: at(target.rtmpPort), key: keyOf('encoded'), transcode: true },
      ],
    })
    const publisher = await broadcast('picture', token, 'vp8')
    expect(await arriving('encoded')).toEqual(['aac', 'h264'])
    const [stream] = await onAir('picture')
    expect(stream.restreams).toMatchObject([
      { index: 0, status: 'failed', problem: 'The video is VP8, and RTMP takes H.264: `transcode` encodes it again' },
      { index: 1, status: 'live' },
    ])
    publisher.end()
    await until(() => arrived('encoded') === undefined)
  })
})

describe('a target that may not be reached', () => {
  test('because it is this server waits, and says so', async () => {
    const { token } = await makeToken(source, 'publish', {
      restream: [{ url: at(source.rtmpPort), key: 'circle?token=x' }, { url: srtAt(source.srtPort, 'circle') }],
    })
    const client = await publish('loop', token)
    const waiting = { status: 'waiting', problem: NOT_ALLOWED }
    await eventually(async () => {
      expect(await onAir('loop')).toMatchObject([{ restreams: [waiting, waiting] }])
    })
    client.socket.destroy()
  })

  test('because its network is no longer allowed is refused at the next dial, and cannot be named', async () => {
    const { token } = await sentTo('outside')
    expect((await source.reload({ webrtc })).ok).toBe(true)
    const client = await publish('outside', token)
    await eventually(async () => {
      expect(await onAir('outside')).toMatchObject([{ restreams: [{ status: 'waiting', problem: NOT_ALLOWED }] }])
    })
    client.socket.destroy()
    const restream = [{ url: at(target.rtmpPort), key: keyOf('outside') }]
    const body = { label: 'x', streams: [{ streamName: 'x' }], restream }
    const refused = await source.call('POST', '/api/publish_token', body)
    expect([refused.status, Object.keys(refused.json.data.errors)]).toEqual([400, ['restream[0].url']])
    expect((await source.reload({ webrtc, media })).ok).toBe(true)
  })
})

describe('the key of a target', () => {
  test('is in no answer, no list and no audit row', async () => {
    const key = 'key-that-only-the-target-sees'
    const restream = [{ url: 'rtmp://127.0.0.1:9350/app', key, label: 'Platform' }]
    const made = await source.call('POST', '/api/publish_token', {
      label: 'x',
      streams: [{ streamName: 'x' }],
      restream,
    })
    expect(made.json.data.restream).toEqual([
      { url: restream[0]?.url, key: '••••sees', label: 'Platform', enabled: true, transcode: false },
    ])
    const { id } = made.json.data
    const answers = [
      await source.call('GET', `/api/publish_token/${id}`),
      await source.call('GET', '/api/publish_token/list'),
      await source.call('PUT', `/api/publish_token/${id}`, { updateRestream: made.json.data.restream, label: 'y' }),
      await source.call('POST', `/api/publish_token/${id}/restream/sync`),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(answers[3]?.json.data).toBe(true)
    const audit = await source.app.ctx.store.read.audit.recent(source.accountId, 100)
    expect(JSON.stringify([made, ...answers, audit])).not.toContain(key)
  })

  test('is in no line of the log', async () => {
    const { token } = await sentTo('logged')
    const client = await publish('logged', token)
    await until(() => arrived('logged'))
    client.socket.destroy()
    await until(() => arrived('logged') === undefined)
    expect(log.join('\n')).toContain('a target of a publish token')
    expect(log.join('\n')).not.toContain(targetToken)
  })

  test('of an unknown token cannot be synced', async () => {
    expect((await source.call('POST', '/api/publish_token/999999/restream/sync')).status).toBe(404)
  })
})
