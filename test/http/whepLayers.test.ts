import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { returnsWithinMs } from '../../src/commands/sessions/heldEnd.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { EncodingLoad } from '../../src/services/encodingLoad.ts'
import { encoded } from '../media/ffmpeg/frames.ts'
import { enhancedMessages } from '../media/rtmp/enhanced.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { feedNamed } from '../support/broadcast.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { makeToken, publish } from '../support/testNode.ts'
import { until } from '../support/until.ts'

let sluice: RunningApp
const engine = new ScriptedEngine()
beforeAll(async () => {
  sluice = await runApp({ engine, flags: { srt: { enabled: false } } })
  const { token } = await makeToken(sluice, 'publish')
  await publish({ ctx: sluice.app.ctx }, { presented: token, streamName: 'show' })
})
afterAll(() => sluice.close())
afterEach(() => {
  engine.choices.length = 0
})

/** The address of the layers of a new viewer, as its answer names it, and the id of its session. */
async function watching(streamName = 'show'): Promise<{ at: string; sessionId: string }> {
  const answer = await fetch(`${sluice.base}/api/whep/${sluice.accountId}/${streamName}`, {
    method: 'POST',
    headers: { 'content-type': 'application/sdp' },
    body: 'v=0\r\n',
  })
  expect(answer.status).toBe(201)
  const relation = /<([^>]*)>; rel="urn:ietf:params:whep:ext:core:layer"/
  const [, at = ''] = relation.exec(answer.headers.get('link') ?? '') ?? []
  expect(at).toBe(`${answer.headers.get('location')}/layer`)
  return { at, sessionId: engine.asked.at(-1)?.sessionId ?? '' }
}

async function send(method: string, at: string, body?: string, type = 'application/json') {
  const headers = body === undefined ? {} : { 'content-type': type }
  const answer = await fetch(sluice.base + at, { method, headers, ...(body === undefined ? {} : { body }) })
  return { status: answer.status, text: await answer.text(), headers: answer.headers }
}

const LAYERS = {
  layers: [
    { encodingId: 'f', width: 640, height: 360, bitrate: 400_000 },
    { encodingId: 'h', width: 320, height: 180, bitrate: 100_000 },
  ],
  chosen: 'h',
  sent: 'f',
}

test('a viewer is told its layers, chooses one, and leaves it to the bandwidth again', async () => {
  const { at, sessionId } = await watching()
  engine.layered = () => ({ ok: true, ...LAYERS })
  const listed = await send('GET', at)
  expect([listed.status, JSON.parse(listed.text)]).toEqual([200, LAYERS])
  expect(listed.headers.get('cache-control')).toBe('no-store')
  expect(listed.headers.get('access-control-allow-origin')).toBe('*')
  for (const body of ['{"mediaId":"0","encodingId":"h"}', '{}', '{"encodingId":null}']) {
    expect((await send('POST', at, body)).status).toBe(200)
  }
  expect(engine.choices).toEqual([undefined, 'h', null, null].map((choice) => ({ sessionId, choice })))
  const preflight = await send('OPTIONS', at)
  expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([204, 'GET, POST, OPTIONS'])
})

test('the refusal of the engine is its status and its text', async () => {
  const { at } = await watching()
  engine.layered = () => ({ ok: false, status: 400, problem: 'encodingId names no layer: the stream has "f"' })
  const { status, text } = await send('POST', at, '{"encodingId":"x"}')
  expect([status, text]).toEqual([400, 'encodingId names no layer: the stream has "f"'])
})

test.each<[name: string, body: string, status: number, text: string]>([
  ['a list', '[]', 400, 'Bad request: the body must be a JSON object'],
  ['half of a body', '{"encodingId"', 400, 'Bad request: the body must be a JSON object'],
  ['a number', '{"encodingId":1}', 400, 'Bad request: encodingId must be a string of at most 64 characters'],
  [
    'a long name',
    `{"encodingId":"${'x'.repeat(65)}"}`,
    400,
    'Bad request: encodingId must be a string of at most 64 characters',
  ],
  ['a medium that is a number', '{"mediaId":0}', 400, 'Bad request: mediaId must be a string'],
  ['a spatial layer', '{"spatialLayerId":1}', 400, 'Bad request: spatialLayerId is not supported'],
  ['two kilobytes', `{"a":"${'x'.repeat(2000)}"}`, 413, ''],
])('%s is refused with its reason and changes nothing', async (_name, body, status, text) => {
  const { at } = await watching()
  const answer = await send('POST', at, body)
  expect(answer.status).toBe(status)
  expect(answer.text).toContain(text)
  expect(engine.choices).toEqual([])
})

test('only the client of a session, only while it lasts, and no publisher has layers', async () => {
  const { at, sessionId } = await watching()
  expect((await send('POST', at, '{}', 'text/plain')).status).toBe(415)
  expect((await send('GET', `/api/whep/resource/${'A'.repeat(43)}/layer`)).status).toBe(404)
  expect((await send('GET', at.replace('whep', 'whip'))).status).toBe(404)
  engine.emit({ kind: 'ended', sessionId, reason: 'lost' })
  expect((await send('POST', at, '{}')).status).toBe(404)
  expect(engine.choices).toEqual([])
})

test('a viewer that gets nothing more and asks learns that its publisher has left, or may be back, until the next one comes', async () => {
  const { ctx } = sluice.app
  const { token } = await makeToken(sluice, 'publish')
  const goOnAir = async () => (await publish({ ctx }, { presented: token, streamName: 'studio' })).session.id
  const first = await goOnAir()
  const { at } = await watching('studio')
  const ask = (candidates = '') =>
    send('PATCH', at.replace('/layer', ''), `a=ice-ufrag:EsAw\r\n${candidates}`, 'application/trickle-ice-sdpfrag')
  expect((await ask()).status).toBe(204)
  const returnsIn = async () => {
    const answer = await ask()
    expect(answer).toMatchObject({ status: 409, text: 'Stream not being published' })
    return Number(answer.headers.get('retry-after'))
  }
  await closeSession(ctx, first, 'lost')
  expect([1, 2, 3, 4, 5]).toContain(await returnsIn())
  const behind = { ...ctx, clock: { ...ctx.clock, now: () => 0 } }
  const stream = { accountId: sluice.accountId, streamName: 'studio', sourceId: null }
  expect(await returnsWithinMs(behind, stream, () => false)).toBe(5000)
  const next = await goOnAir()
  expect((await ask()).status).toBe(204)
  await closeSession(ctx, next, 'left')
  expect(await returnsIn()).toBe(0)
  expect((await ask('a=end-of-candidates\r\n')).status).toBe(204)
  await goOnAir()
  expect((await ask()).status).toBe(204)
})

test('viewers await a publisher that only closes its connection, as one that loads its page again, until its DELETE comes', async () => {
  const { token } = await makeToken(sluice, 'publish')
  const answer = await fetch(`${sluice.base}/api/whip/stage`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/sdp' },
    body: 'v=0\r\n',
  })
  const sessionId = engine.asked.at(-1)?.sessionId ?? ''
  engine.emit({ kind: 'connected', sessionId, address: '127.0.0.1' })
  await until(() => sluice.app.ctx.sessions.feeds.onAir(sluice.accountId, 'stage'))
  const at = (await watching('stage')).at.replace('/layer', '')
  const ask = () => send('PATCH', at, 'a=ice-ufrag:EsAw\r\n', 'application/trickle-ice-sdpfrag')
  engine.emit({ kind: 'ended', sessionId, reason: 'left' })
  await until(async () => (await ask()).status === 409)
  const returnsIn = async () => Number((await ask()).headers.get('retry-after'))
  expect([1, 2, 3, 4, 5]).toContain(await returnsIn())
  expect((await send('DELETE', answer.headers.get('location') ?? '')).status).toBe(200)
  expect(await returnsIn()).toBe(0)
})

test('a viewer who lacks the codec is told so where it would get H.264, but the machine has no room to encode', async () => {
  const { token } = await makeToken(sluice, 'publish', { transcode: true })
  const { session } = await publish({ ctx: sluice.app.ctx }, { presented: token, streamName: 'wide' })
  expect(engine.feeds.find(({ preferredTo }) => preferredTo === session.id)).toMatchObject({ sourceId: null })
  const before = engine.negotiated
  engine.negotiated = async () => ({ ok: false, status: 406, problem: 'No codec.' })
  const refusedAt = async (codec: 'hevc' | 'h264', width: number) => {
    const video = { kind: 'video', codec, width, height: width, config: new Uint8Array() } as const
    engine.emit({ kind: 'tracks', sessionId: session.id, tracks: [video] })
    return (await send('POST', `/api/whep/${sluice.accountId}/wide`, 'v=0\r\n', 'application/sdp')).text
  }
  expect(await refusedAt('hevc', 30_000)).toMatch(/^No codec\. Sluice encodes .* H\.264 .* try again later\.$/)
  expect([await refusedAt('hevc', 32), await refusedAt('h264', 30_000)]).toEqual(['No codec.', 'No codec.'])
  engine.negotiated = before
})

test('so is a viewer of video with B-frames over RTMP', async () => {
  const hasRoom = vi.spyOn(EncodingLoad.prototype, 'hasRoomFor').mockReturnValue(false)
  const { token } = await makeToken(sluice, 'publish')
  const recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 1, bframes: 2, gop: 5 })
  const url = `rtmp://127.0.0.1:${sluice.rtmpPort}/v2/pub/reordered?token=${token}`
  const publisher = await RtmpPublisher.start(url, systemClock, enhancedMessages(recorded))
  const { feedId } = await until(() => feedNamed(sluice, 'reordered'))
  const { source } = await until(() => engine.feeds.find(({ sessionId }) => sessionId === `feed-${feedId}`))
  const tracks: string[] = []
  const leave = source.announce((all) => void tracks.push(all.map(({ codec }) => codec).join()))
  await until(() => tracks.at(-1) === '')
  const before = engine.negotiated
  engine.negotiated = async () => ({ ok: false, status: 406, problem: 'No video.' })
  const refusal = async () =>
    (await send('POST', `/api/whep/${sluice.accountId}/reordered`, 'v=0\r\n', 'application/sdp')).text
  expect(await refusal()).toMatch(/^No video\. Sluice encodes .* H\.264 .* try again later\.$/)
  hasRoom.mockRestore()
  await until(() => tracks.at(-1) === 'h264,opus')
  expect(await refusal()).toBe('No video.')
  engine.negotiated = before
  leave()
  publisher.end()
})

test('a player of HLS is told so at once', async () => {
  const hasRoom = vi.spyOn(EncodingLoad.prototype, 'hasRoomFor').mockReturnValue(false)
  const { token } = await makeToken(sluice, 'publish')
  const recorded = await encoded({ video: 'vp9', audio: 'aac', seconds: 1, gop: 25 })
  const url = `rtmp://127.0.0.1:${sluice.rtmpPort}/v2/pub/packaged?token=${token}`
  const publisher = await RtmpPublisher.start(url, systemClock, enhancedMessages(recorded))
  await until(() => feedNamed(sluice, 'packaged'))
  const master = () => send('GET', `/hls/${sluice.accountId}/packaged/index.m3u8`)
  expect(await master()).toMatchObject({
    status: 503,
    text: expect.stringMatching(/^Sluice encodes .* no room .* later/),
  })
  hasRoom.mockRestore()
  publisher.end()
})

test('a token with `transcode` has video with B-frames encoded where the configuration does not', async () => {
  const { config } = sluice.app
  const configured = vi.spyOn(sluice.app, 'config', 'get')
  configured.mockReturnValue({ ...config, rtmp: { ...config.rtmp, transcodeBFrames: false } })
  const recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 1, bframes: 2, gop: 5 })
  const announced = async (transcode: boolean): Promise<string> => {
    const { token } = await makeToken(sluice, 'publish', { transcode })
    const url = `rtmp://127.0.0.1:${sluice.rtmpPort}/v2/pub/encoded-${transcode}?token=${token}`
    const publisher = await RtmpPublisher.start(url, systemClock, enhancedMessages(recorded))
    const { feedId } = await until(() => feedNamed(sluice, `encoded-${transcode}`))
    const { source } = await until(() => engine.feeds.find(({ sessionId }) => sessionId === `feed-${feedId}`))
    const said = await new Promise<string>((resolve) => {
      // Before the frames it is not sure that there are B-frames.
      source.announce((all) => all.length < 2 === !transcode && resolve(all.map(({ codec }) => codec).join()))
    })
    publisher.end()
    return said
  }
  expect(await announced(true)).toBe('h264,opus')
  expect(await announced(false)).toBe('opus')
  configured.mockRestore()
})
