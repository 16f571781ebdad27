import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createLogger } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { Message } from '../../src/media/rtmp/messages.ts'
import { StreamKeys } from '../../src/media/srt/keys.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { PullTxVerbs } from '../../src/store/tables/pulls.ts'
import { issueAuthority } from '../../src/tls/issue.ts'
import { encoded } from '../media/ffmpeg/frames.ts'
import { enhancedMessages, layeredMessages } from '../media/rtmp/enhanced.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { codecsOnAir, feedNamed } from '../support/broadcast.ts'
import { lasting, leafOf, trustedAuthority } from '../support/certificates.ts'
import { ownPort } from '../support/ownPort.ts'
import { RtmpSource, type SourceOptions, statusOf } from '../support/rtmpSource.ts'
import { type CameraOptions, RtspCamera } from '../support/rtspCamera.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const PASSWORD = "s3cr't/pa:ss"
const login = { user: 'viewer', password: PASSWORD, scheme: 'Digest' } as const
const log: string[] = []
const cameras: (RtspCamera | RtmpSource)[] = []
let app: RunningApp

beforeAll(async () => {
  app = await runApp({
    flags: { webrtc: { host: '127.0.0.1', port: 0 }, media: { allowedNetworks: ['127.0.0.0/8'] } },
    log: createLogger({ level: 'debug', format: 'json', destination: { write: (line) => void log.push(line) } }),
  })
})
afterAll(async () => {
  await app.close()
  for (const camera of cameras) await camera.stop()
})

async function camera(options: CameraOptions = {}): Promise<RtspCamera> {
  const started = await RtspCamera.start(options)
  cameras.push(started)
  return started
}

const urlOf = ({ port }: RtspCamera, password: string | null = null) =>
  `rtsp://${password === null ? '' : `viewer:${encodeURIComponent(password)}@`}127.0.0.1:${port}/live/main?profile=key-42`

async function pulled(streamName: string, url: string, more: object = {}): Promise<{ id: number; tokenId: number }> {
  const { id: tokenId } = await makeToken(app, 'publish')
  const made = await app.call('POST', '/api/pulls', { tokenId, streamName, url, ...more })
  expect(made.status, made.text).toBe(200)
  return { id: made.json.data.id, tokenId }
}

const read = async (id: number) => (await app.call('GET', `/api/pulls/${id}`)).json.data
const feedOf = (name: string) => feedNamed(app, name)
const watched = (name: string) => codecsOnAir(app, name)
const is = (id: number, status: string) => until(async () => (await read(id)).status === status)

// Each waits for its own source most of the time.
describe.concurrent('a camera over RTSP', () => {
  test('is on the air with its pictures and its sound, in the name of the token', async () => {
    const { id, tokenId } = await pulled('door', urlOf(await camera({ audio: 'aac', login }), PASSWORD))
    expect(await watched('door')).toEqual(['h264', 'aac'])
    await is(id, 'live')
    const entry = app.app.ctx.sessions.ofToken(tokenId)[0]
    expect(entry?.session).toMatchObject({ protocol: 'pull', action: 'publish', address: '127.0.0.1' })
    await until(() => (entry?.bytes.bytesIn ?? 0) > 10_000)
  })

  test('with sound that no stream carries is encoded, over the same connection', async () => {
    const source = await camera({ audio: 'pcmu', login: { ...login, scheme: 'Basic' } })
    await pulled('yard', urlOf(source, PASSWORD))
    expect(await watched('yard')).toEqual(['h264', 'aac'])
    expect(source.clients).toBe(1)
  })

  test('that goes away comes back', async () => {
    const port = await ownPort()
    const first = await RtspCamera.start({ port })
    const { id } = await pulled('gate', urlOf(first))
    await watched('gate')
    await first.stop()
    await is(id, 'waiting')
    expect(feedOf('gate')).toBeUndefined()
    expect((await read(id)).retryAt).toBeDefined()
    await camera({ port })
    expect(await watched('gate')).toEqual(['h264'])
  })

  test('ends with its token, and its pull is gone', async () => {
    const source = await camera()
    const { id, tokenId } = await pulled('doomed', urlOf(source))
    await watched('doomed')
    expect((await app.call('DELETE', `/api/publish_token/${tokenId}`)).status).toBe(200)
    await until(() => feedOf('doomed') === undefined && source.clients === 0)
    expect((await app.call('GET', `/api/pulls/${id}`)).status).toBe(404)
  })

  test('ends when the token is switched off, and begins when it is on again', async () => {
    const { id, tokenId } = await pulled('shift', urlOf(await camera()))
    await watched('shift')
    const set = (isActive: boolean) => app.call('PUT', `/api/v2/publish_token/${tokenId}`, { isActive })
    expect((await set(false)).status).toBe(200)
    await until(() => feedOf('shift') === undefined)
    const { problem } = await until(async () => (await read(id)).problem?.startsWith('The publish token') && read(id))
    expect(problem).toContain('does not allow it')
    expect((await set(true)).status).toBe(200)
    await watched('shift')
  })

  test('goes on in the name of the new value when its token is refreshed', async () => {
    const { tokenId } = await pulled('fresh', urlOf(await camera()))
    await watched('fresh')
    const before = feedOf('fresh')?.sessionId
    const refreshed = await app.call('PUT', `/api/v2/publish_token/${tokenId}`, { refreshToken: true })
    expect(refreshed.status, refreshed.text).toBe(200)
    await until(() => feedOf('fresh')?.sessionId !== before && feedOf('fresh'))
  })

  test('ends when it is switched off, and when it is deleted', async () => {
    const source = await camera()
    const { id } = await pulled('switch', urlOf(source))
    await watched('switch')
    expect((await app.call('PUT', `/api/pulls/${id}`, { enabled: false })).json.data.status).toBe('off')
    await until(() => feedOf('switch') === undefined && source.clients === 0)
    await app.call('PUT', `/api/pulls/${id}`, { enabled: true })
    await watched('switch')
    expect((await app.call('DELETE', `/api/pulls/${id}`)).status).toBe(200)
    await until(() => feedOf('switch') === undefined && source.clients === 0)
  })
})

describe.concurrent('a server over RTMP', () => {
  const KEY = 's3cret-stream-77'
  let show: Message[]
  beforeAll(async () => {
    show = enhancedMessages(await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25 }))
  })

  async function server(options: SourceOptions = {}): Promise<RtmpSource> {
    const started = await RtmpSource.start({ tags: show, ...options })
    cameras.push(started)
    return started
  }
  const urlAt = ({ port }: RtmpSource, scheme = 'rtmp') => `${scheme}://127.0.0.1:${port}/live/${KEY}?auth=key-42`

  test('is on the air in the name of the token, without its stream and its query in any list', async () => {
    const source = await server()
    const { id, tokenId } = await pulled('studio', urlAt(source))
    expect(await watched('studio')).toEqual(['h264', 'aac'])
    await is(id, 'live')
    expect(source.played).toEqual([`${KEY}?auth=key-42`])
    const entry = app.app.ctx.sessions.ofToken(tokenId)[0]
    expect(entry?.session).toMatchObject({ protocol: 'pull', action: 'publish', address: '127.0.0.1' })
    await until(() => (entry?.bytes.bytesIn ?? 0) > 10_000)
    expect((await read(id)).url).toBe(`rtmp://127.0.0.1:${source.port}/live/••••?••••`)
  })

  test.each([
    ['deleted', (tokenId: number) => app.call('DELETE', `/api/publish_token/${tokenId}`)],
    [
      'edited away',
      (tokenId: number) =>
        app.call('PUT', `/api/v2/publish_token/${tokenId}`, { allowedIpAddresses: ['198.51.100.0/24'] }),
    ],
  ])('ends when its token is %s', async (how, change) => {
    const source = await server()
    const streamName = `ends-${how.length}`
    const { tokenId } = await pulled(streamName, urlAt(source))
    await watched(streamName)
    expect((await change(tokenId)).status).toBe(200)
    await until(() => feedOf(streamName) === undefined && source.sockets.size === 0)
  })

  test('comes back when its stream ends and begins again', async () => {
    const source = await server()
    const { id } = await pulled('returning', urlAt(source))
    await watched('returning')
    source.send(statusOf('NetStream.Play.UnpublishNotify'))
    await is(id, 'waiting')
    expect(await read(id)).toMatchObject({
      problem: 'The source says that its stream has ended',
      problemSentences: [{ code: 'source_ended', values: {} }],
    })
    await watched('returning')
    expect(source.connections).toBe(2)
  })

  test('says in words what it refuses, without the key', async () => {
    const refused = [statusOf('NetStream.Play.Denied', { description: `${KEY} is closed` })]
    const source = await server({ answer: (name) => (name === 'play' ? refused : undefined) })
    const { id } = await pulled('closed', urlAt(source))
    expect(await until(async () => (await read(id)).problem)).toBe('The source says: •••• is closed')
  })

  test('sends sizes of one picture: they are layers, as those of a publisher', async () => {
    const sizes = ['320x180', '160x90'].map((size) =>
      encoded({ video: 'h264', audio: 'aac', seconds: 2, size, gop: 25 }),
    )
    await pulled('sizes', urlAt(await server({ tags: layeredMessages(await Promise.all(sizes)) })))
    const { media } = await until(() => feedOf('sizes'))
    const came = new Set<string | undefined>()
    const leave = media.subscribe({
      takesLayers: true,
      tracks: () => undefined,
      frame: ({ kind, layer }) => void (kind === 'video' && came.add(layer)),
      end: () => undefined,
    })
    await until(() => came.size === 2)
    leave()
    expect(came).toEqual(new Set(['0', '1']))
    const live = async () => (await app.call('GET', '/api/streams/live?streamName=sizes')).json.data[0]
    await until(async () => (await live()).source.layers === 2)
    expect(await live()).toMatchObject({ protocol: 'pull', videoCodec: 'h264', width: 320, height: 180 })
  })

  test('must prove its name over TLS', async () => {
    const stranger = await issueAuthority('Stranger', lasting(5), systemRandom)
    const unproved = await pulled('unproved', urlAt(await server({ tls: await leafOf(stranger) }), 'rtmps'))
    const problem = await until(async () => (await read(unproved.id)).problem)
    expect(problem).toBe('The certificate was issued by an authority that is not trusted')
    await pulled('proved', urlAt(await server({ tls: await leafOf(await trustedAuthority()) }), 'rtmps'))
    expect(await watched('proved')).toEqual(['h264', 'aac'])
  })
})

describe('a server over SRT', () => {
  const PASSPHRASE = 'correct-horse_battery'

  /** ffmpeg as listener: it sends a picture that moves, and a tone. */
  async function listener(): Promise<{ url: (passphrase?: string) => string; gone: Promise<unknown> }> {
    const port = await ownPort()
    const media = '-re -f lavfi -i testsrc2=size=320x240:rate=25 -re -f lavfi -i sine=frequency=440:sample_rate=48000'
    const encode = '-c:v libx264 -preset ultrafast -g 25 -c:a aac -ac 2 -f mpegts'
    const to = `srt://127.0.0.1:${port}?mode=listener&passphrase=${PASSPHRASE}&kmrefreshrate=100&kmpreannounce=40`
    const ffmpeg = spawn('ffmpeg', [...`-v quiet ${media} ${encode}`.split(' '), to])
    const gone = once(ffmpeg, 'close')
    onTestFinished(async () => {
      ffmpeg.kill('SIGKILL')
      await gone
    })
    const url = (passphrase = PASSPHRASE) =>
      `srt://127.0.0.1:${port}?streamid=key-42&passphrase=${passphrase}&latency=200`
    return { url, gone }
  }

  test('is on the air with its loss and round trip, encrypted with keys that change, and ends with its token', async () => {
    const refreshes = vi.spyOn(StreamKeys.prototype, 'refresh')
    onTestFinished(() => refreshes.mockRestore())
    const { url, gone } = await listener()
    const { id, tokenId } = await pulled('contribution', url())
    expect(await watched('contribution')).toEqual(['h264', 'aac'])
    await is(id, 'live')
    expect((await read(id)).url).toMatch(/^srt:\/\/127\.0\.0\.1:\d+\?••••$/)
    const [entry] = app.app.ctx.sessions.ofToken(tokenId)
    expect(entry?.session).toMatchObject({ protocol: 'pull', action: 'publish', address: '127.0.0.1' })
    await until(() => entry?.media?.source.roundTripMs !== undefined && entry.media.source.packetLoss !== undefined)
    await until(() => refreshes.mock.calls.length > 1)
    expect(await Promise.all(refreshes.mock.results.map(({ value }) => value as Promise<boolean>))).not.toContain(false)
    expect(await watched('contribution')).toEqual(['h264', 'aac'])
    expect((await app.call('DELETE', `/api/publish_token/${tokenId}`)).status).toBe(200)
    await until(() => feedOf('contribution') === undefined)
    await gone
  })

  test('with another passphrase says so', async () => {
    const { url } = await listener()
    const { id } = await pulled('locked', url('another-passphrase-1'))
    expect(
      await until(async () => ((await read(id)).problem ?? '').includes('passphrase') && (await read(id)).problem),
    ).toBe('The other side has another passphrase (SRT code 1010)')
  })

  test('at the port of this server is refused when it is dialled', async () => {
    const { id } = await pulled('round', `srt://127.0.0.1:${app.srtPort}?streamid=round`)
    const { problem } = await until(async () => (await read(id)).problem !== undefined && read(id))
    expect(problem).toContain('an address that no source may have')
  })
})

describe.concurrent('a source that does not play', () => {
  test('refuses a wrong password, three times at most, and says so', async () => {
    const source = await camera({ login })
    const { id } = await pulled('wrong', urlOf(source, 'another1'))
    await is(id, 'refused')
    expect((await read(id)).problem).toBe('The source refuses the user or the password')
    const asked = source.requests.length
    expect((await app.call('PUT', `/api/pulls/${id}`, { url: urlOf(source, PASSWORD) })).status).toBe(200)
    expect(await watched('wrong')).toEqual(['h264'])
    expect(source.requests.length).toBeGreaterThan(asked)
  })

  test.each([
    ['wants a login', { login }, 'refused', 'The source wants a user and a password'],
    ['sends another codec', { encoding: 'JPEG' }, 'failed', 'The source sends video as JPEG; set it to H.264 or H.265'],
  ] as const)('%s', async (_, options, status, problem) => {
    const { id } = await pulled('words', urlOf(await camera(options)))
    await is(id, status)
    expect((await read(id)).problem).toBe(problem)
  })

  test('leads ffmpeg nowhere else by a redirect', async () => {
    const another = await camera()
    const moved = `RTSP/1.0 302 Moved\r\nCSeq: CSEQ\r\nLocation: rtsp://127.0.0.1:${another.port}/live\r\n\r\n`
    const { id } = await pulled('moved', urlOf(await camera({ answer: (m) => (m === 'DESCRIBE' ? moved : undefined) })))
    await is(id, 'refused')
    expect((await read(id)).problem).toBe('The source redirects to another address, which is not followed')
    expect(another.requests).toEqual([])
  })

  test('at an address of this server is refused when it is dialled', async () => {
    const { id } = await pulled('loop', `rtsp://127.0.0.1:${app.rtmpPort}/x`)
    const { problem } = await until(async () => (await read(id)).problem !== undefined && read(id))
    expect(problem).toContain('an address that no source may have')
  })

  test('at a private address is refused unless the network is allowed', async () => {
    const closed = await runApp({ flags: { webrtc: { host: '127.0.0.1', port: 0 } } })
    const { id: tokenId } = await makeToken(closed, 'publish')
    const made = await closed.call('POST', '/api/pulls', { tokenId, streamName: 's', url: 'rtsp://127.0.0.1:8554/x' })
    expect(made.status).toBe(400)
    expect(made.json.data.errors.url).toEqual([
      'must lead to a public address; 127.0.0.1 is not one (the setting `media.allowedNetworks` allows others)',
    ])
    await closed.close()
  })

  test('is refused by the rules of its token, with its own address', async () => {
    const { id: tokenId } = await makeToken(app, 'publish', { allowedIpAddresses: ['198.51.100.0/24'] })
    const made = await app.call('POST', '/api/pulls', { tokenId, streamName: 'far', url: urlOf(await camera()) })
    await is(made.json.data.id, 'refused')
    const entries = (await app.call('GET', '/api/access/log?protocol=pull&allowed=false')).json.data
    expect(JSON.stringify(entries)).toContain('"code":"address_not_allowed"')
  })
})

test('no process, list, log line or audit row shows a password or a query', async () => {
  const { id } = await pulled('hush', urlOf(await camera({ login }), PASSWORD))
  await watched('hush')
  const processes = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
  const list = (await app.call('GET', '/api/pulls')).text
  const rows = await app.app.ctx.store.read.audit.page({ accountId: app.accountId, limit: 1000 })
  const audit = JSON.stringify(rows)
  expect(audit).toContain('pull.create')
  const all = [processes, list, audit, log.join('')].join('\n')
  const secrets = [
    PASSWORD,
    encodeURIComponent(PASSWORD),
    'key-42',
    'another1',
    's3cret-stream-77',
    'another-passphrase-1',
  ]
  for (const secret of secrets) expect(all).not.toContain(secret)
  expect((await read(id)).url).toMatch(/^rtsp:\/\/viewer:••••@127\.0\.0\.1:\d+\/live\/main\?••••$/)
})

// Alone, because it fails what others write at the same moment.
test('a source that failed while the store took nothing is shown as it is afterwards', async () => {
  const { id } = await pulled('unwritten', urlOf(await camera({ encoding: 'JPEG' })), { enabled: false })
  const { value } = Object.getOwnPropertyDescriptor(PullTxVerbs.prototype, 'setState') ?? {}
  const setState = value as PullTxVerbs['setState']
  let refused = 0
  const setting = vi.spyOn(PullTxVerbs.prototype, 'setState').mockImplementation(function (
    this: PullTxVerbs,
    ...state: Parameters<typeof setState>
  ) {
    const [pull, , { status }] = state
    if (pull !== id || status !== 'failed' || refused > 0) return setState.call(this, ...state)
    refused += 1
    return Promise.reject(new StoreUnavailable('it is away'))
  })
  onTestFinished(() => setting.mockRestore())
  expect((await app.call('PUT', `/api/pulls/${id}`, { enabled: true })).status).toBe(200)
  await is(id, 'failed')
  expect(refused).toBe(1)
})
