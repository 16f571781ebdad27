import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Peer } from './peer.ts'
import { setStage, type Stage, type Token } from './sluice.ts'

let stage: Stage
const peers: Peer[] = []

beforeAll(async () => {
  stage = await setStage()
})
afterAll(() => stage.close())

const anyName = [{ streamName: '.*', isRegex: true }]
const publishToken = (body: object = {}): Promise<Token> => stage.token('publish', { streams: anyName, ...body })
const subscribeToken = (body: object = {}): Promise<Token> => stage.token('subscribe', { streams: anyName, ...body })

async function open(host?: string): Promise<Peer> {
  const peer = await stage.peer(host)
  peers.push(peer)
  return peer
}

async function broadcast(stream: string, { token }: Token, request: { codec?: string; sourceId?: string } = {}) {
  const peer = await open()
  expect(await peer.publish({ url: stage.whip(stream), token, ...request })).toBe('ok')
  return peer
}

/** Watches as soon as the stream is on the air. */
async function view(stream: string, token?: Token, sourceId = ''): Promise<Peer> {
  const peer = await open()
  const request = { url: stage.whep(stream), sourceId, ...(token ? { token: token.token } : {}) }
  await peer.watchSoon(request)
  return peer
}

/** Session ids of a stream's publishers. */
async function publishersOf(stream: string): Promise<string[]> {
  const { data } = await stage.api('GET', '/api/sessions')
  const sessions = data as { id: string; action: string; streamName: string }[]
  return sessions.filter((one) => one.action === 'publish' && one.streamName === stream).map(({ id }) => id)
}

/** Command lines. */
function processesOfServer(): string[] {
  const ps = (...args: string[]) => execFileSync('ps', ['-ww', '-o', ...args], { encoding: 'utf8' }).trim()
  return ps('args=', '--ppid', ps('ppid=', '-p', String(stage.relays()[0])).trim()).split('\n')
}

const closeAll = () => Promise.all(peers.splice(0).map((peer) => peer.close()))

describe('WHIP to WHEP', () => {
  test.each([
    ['h264', 'video/H264'],
    ['vp8', 'video/VP8'],
  ])('%s: video and audio play, also for a viewer that joins late', async (codec, mimeType) => {
    const publisher = await broadcast(`film-${codec}`, await publishToken(), { codec })
    const first = await view(`film-${codec}`)
    expect((await first.plays()).codecs).toEqual(['audio/opus', mimeType])
    const late = await view(`film-${codec}`)
    expect((await late.plays()).width).toBeGreaterThan(0)
    await publisher.stop()
    await first.stands()
    await closeAll()
  })

  test('of VP9 a viewer without it gets H.264 beside if the token asks for that, which HLS shares, and else learns what the stream is', async () => {
    for (const [stream, transcode] of [
      ['nine', true],
      ['nine-only', false],
    ] as const)
      await broadcast(stream, await publishToken({ transcode }), { codec: 'vp9' })
    const [able, unable] = [await view('nine'), await open()]
    expect((await able.plays()).codecs).toEqual(['audio/opus', 'video/VP9'])
    await unable.lack('VP9')
    expect(await unable.watch({ url: stage.whep('nine-only') })).toMatch(/^406 .*VP9/)
    await unable.watchSoon({ url: stage.whep('nine') })
    expect((await unable.plays()).codecs).toEqual(['audio/opus', 'video/H264'])
    expect((await able.plays()).codecs).toEqual(['audio/opus', 'video/VP9'])
    await expect.poll(async () => (await fetch(stage.hls('nine'))).text()).toContain('avc1')
    expect(processesOfServer().filter((args) => args.includes('libx264'))).toHaveLength(1)
    await closeAll()
  })

  test('a second publisher of a name replaces the first, and viewers stay', async () => {
    const token = await publishToken()
    await broadcast('relay', token)
    const viewer = await view('relay')
    await viewer.plays()
    const [before] = await publishersOf('relay')
    await broadcast('relay', token)
    await expect.poll(() => publishersOf('relay')).toEqual([expect.not.stringContaining(before ?? '')])
    await viewer.plays()
    await closeAll()
  })

  test.each([
    ['audioOnly', ['audio/opus']],
    ['videoOnly', ['video/VP8']],
  ])('with %s in its address a publisher sends nothing else', async (parameter, codecs) => {
    const publisher = await open()
    const request = { url: `${stage.whip('half')}?${parameter}`, token: (await publishToken()).token, codec: 'vp8' }
    expect(await publisher.publish(request)).toBe('ok')
    const viewer = await view('half')
    const moves = ({ frames, audioBytes }: Awaited<ReturnType<Peer['figures']>>) => Math.max(frames, audioBytes) > 10
    await expect.poll(() => viewer.figures()).toSatisfy(moves)
    expect((await viewer.figures()).codecs).toEqual(codecs)
    const { frames, audioBytes } = await publisher.figures()
    expect(Math.min(frames, audioBytes)).toBe(0)
    await closeAll()
  })

  test('sources of one name are kept apart', async () => {
    const token = await publishToken()
    await broadcast('two', token, { sourceId: 'left', codec: 'h264' })
    await broadcast('two', token, { sourceId: 'right', codec: 'vp8' })
    const [left, right] = [await view('two', undefined, 'left'), await view('two', undefined, 'right')]
    expect((await left.plays()).codecs).toContain('video/H264')
    expect((await right.plays()).codecs).toContain('video/VP8')
    await closeAll()
  })
})

describe('tokens', () => {
  test('a secured stream plays with a subscribe token only', async () => {
    await broadcast('vip', await publishToken({ subscribeRequiresAuth: true }))
    const viewer = await view('vip', await subscribeToken())
    await viewer.plays()
    expect(await (await open()).watch({ url: stage.whep('vip') })).toBe('401 Unauthorized: Invalid token')
    await closeAll()
  })

  test('deleting a token ends its viewers, and no others', async () => {
    await broadcast('club', await publishToken({ subscribeRequiresAuth: true }))
    const [taken, kept] = [await subscribeToken(), await subscribeToken()]
    const [leaving, staying] = [await view('club', taken), await view('club', kept)]
    await Promise.all([leaving.plays(), staying.plays()])
    const over = leaving.over()
    expect((await stage.api('DELETE', `/api/subscribe_token/${taken.id}`)).status).toBe(200)
    // The page sees it before the browser's ICE does.
    expect(await over).toBe('connected')
    await leaving.stands()
    await staying.plays()
    const again = await leaving.watch({ url: stage.whep('club'), token: taken.token })
    expect(again).toBe('401 Unauthorized: Invalid token')
    await closeAll()
  })

  test('an audio-only stream plays with the usual offer of both, and the page sees at once that its token is deleted', async () => {
    const speaker = await open()
    const { token } = await publishToken({ subscribeRequiresAuth: true })
    expect(await speaker.publish({ url: stage.whip('talk'), token, only: 'audio' })).toBe('ok')
    const taken = await subscribeToken()
    const listener = await view('talk', taken)
    await expect.poll(async () => (await listener.figures()).audioEnergy).toBeGreaterThan(0)
    const over = listener.over()
    await stage.api('DELETE', `/api/subscribe_token/${taken.id}`)
    expect(await over).toBe('connected')
    await closeAll()
  })

  test('deleting a publish token ends its broadcast', async () => {
    const token = await publishToken()
    await broadcast('brief', token)
    const viewer = await view('brief')
    await viewer.plays()
    await stage.api('DELETE', `/api/publish_token/${token.id}`)
    await viewer.stands()
    await expect.poll(() => publishersOf('brief')).toEqual([])
    expect(await viewer.watch({ url: stage.whep('brief') })).toMatch(/^40[19] /)
    await closeAll()
  })
})

test('a killed relay process takes its sessions with it, is logged, and restarts for the next ones', async () => {
  const token = await publishToken()
  const publisher = await broadcast('phoenix', token)
  const viewer = await view('phoenix')
  await viewer.plays()
  const relays = stage.relays()
  for (const pid of relays) process.kill(pid, 'SIGKILL')
  await viewer.stands()
  await expect.poll(async () => (await stage.api('GET', '/api/sessions')).data).toEqual([])
  await expect.poll(() => stage.server.log()).toContain('a media process died')
  await publisher.close()
  const again = await open()
  const request = { url: stage.whip('phoenix'), token: token.token }
  // Until the next process listens, clients get a 503 with Retry-After.
  await expect.poll(() => again.publish(request)).toBe('ok')
  const next = await view('phoenix')
  await next.plays()
  expect(stage.relays().some((pid) => relays.includes(pid))).toBe(false)
  await closeAll()
})
