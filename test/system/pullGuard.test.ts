import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSecureContext, createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { TranscodeEvent, TranscodeLog } from '../../src/core/channels/runs/transcoder.ts'
import { Measured } from '../../src/services/measured.ts'
import type { Dialling } from '../../src/net/dial.ts'
import { publicNames } from '../../src/net/resolve.ts'
import { amfObject } from '../../src/media/rtmp/amf0.ts'
import { commandMessage, type Message, writeMessage } from '../../src/media/rtmp/messages.ts'
import { connected, result } from '../../src/media/rtmp/replies.ts'
import { createFfmpeg } from '../../src/media/ffmpeg/ffmpeg.ts'
import { ChannelStreams } from '../../src/media/hls/channelStreams.ts'
import { PushSources } from '../../src/media/transcoder/sources.ts'
import { EngineOutputs } from '../../src/media/transcoder/engineOutput.ts'
import { createTranscoder, type FfmpegTranscoder } from '../../src/media/transcoder/transcoder.ts'
import { Authority } from '../delivery/support/certificates.ts'
import { NameServer } from '../delivery/support/nameServer.ts'
import { freeLoad } from '../support/load.ts'
import { silentLog } from '../support/log.ts'
import { offline } from '../support/offline.ts'
import { dialsSources } from '../support/sourceDialler.ts'
import { endChildren, ended, workingIn } from '../support/channels.ts'
import { until } from '../support/until.ts'
import { ownPort } from '../support/ownPort.ts'

const LADDER = {
  video: [{ id: 're_1', label: 'tiny', width: 96, height: 54, bitrate: 100_000, frameRate: null }],
  audioKbps: null,
  audioOnly: false,
}

const tools = { clock: systemClock, random: systemRandom, log: silentLog }
let authority: Authority
let dir: string
let transcoder: FfmpegTranscoder | null = null
let events: (TranscodeEvent | TranscodeLog)[]
const stops: (() => unknown)[] = []

beforeAll(() => {
  authority = new Authority()
})
afterAll(() => authority.remove())
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-pull-'))
  events = []
})
afterEach(async () => {
  await transcoder?.stop()
  transcoder = null
  endChildren()
  for (const stop of stops.splice(0)) stop()
  await rm(dir, { recursive: true })
})

/** An engine that pulls. 127.0.0.2 plays a public address, and names resolve through a test name server. */
async function pull(url: string, answers: string[][], more: Partial<Dialling> = {}): Promise<NameServer> {
  const names = new NameServer(...answers)
  stops.push(() => names.stop())
  const resolve = publicNames([await names.start()])
  const allows = (address: string): boolean => address === '127.0.0.2'
  const ffmpeg = createFfmpeg({ ...tools, binary: 'ffmpeg', maxChildren: () => 4, offline })
  const parts = {
    ...tools,
    ffmpeg,
    dial: dialsSources(ffmpeg, { resolve, allows, ...more }),
    sources: new PushSources(silentLog),
    meter: new Measured(tools, ''),
    load: freeLoad(),
    streams: new ChannelStreams(tools.clock),
    outputs: new EngineOutputs(tools),
    folder: join(dir, 'channels'),
    loadSlate: async () => null,
  }
  transcoder = createTranscoder(parts)
  await transcoder.start()
  const source = { kind: 'pull', ingestId: 'in_1', url } as const
  const of = { engineId: 'en_1', channelId: 'ch_1', accountId: 'a', name: 'test', audio: [] }
  transcoder.launch({ ...of, source, ladder: LADDER }, (event) => void events.push(event))
  return names
}

const messages = (kind: 'died' | 'log'): string =>
  events.map((event) => (event.kind === kind ? event.message : '')).join('')
const message = (): string => messages('died')
const FORBIDDEN = 'The host leads to an address that no source may have'

interface Heard {
  port: number
  connections: number
  text: string
  sockets: Socket[]
}

/** Completes the RTMP handshake, and stores what the client sends then. */
async function rtmpServer(address: string, port = 0): Promise<Heard> {
  const heard: Heard = { port, connections: 0, text: '', sockets: [] }
  await opened(
    createServer((socket) => hear(heard, socket)),
    address,
    heard,
  )
  return heard
}

/** Redirects every client: the first in answer to connect, the next in answer to play. */
async function redirectingServer(address: string, target: string): Promise<Heard> {
  const heard: Heard = { port: 0, connections: 0, text: '', sockets: [] }
  const ex = amfObject({ code: 302, redirect: target })
  const rejected = amfObject({
    level: 'error',
    code: 'NetConnection.Connect.Rejected',
    description: '[ code=302 ]',
    ex,
  })
  const failed = amfObject({ level: 'error', code: 'NetStream.Play.Failed', description: target, redirect: target, ex })
  const server = createServer((socket) => {
    const early = heard.connections % 2 === 0
    hear(heard, socket, (bytes) => {
      const text = bytes.toString('latin1')
      if (text.includes('connect')) return early ? [commandMessage(0, '_error', 1, null, rejected)] : connected(1)
      if (text.includes('createStream')) return result(transactionOf(bytes, 'createStream'), 1)
      return text.includes('play') ? [commandMessage(1, 'onStatus', 0, null, failed)] : []
    })
  })
  await opened(server, address, heard)
  return heard
}

/** The number after the name of a command (AMF 0). */
const transactionOf = (bytes: Buffer, name: string): number => bytes.readDoubleBE(bytes.indexOf(name) + name.length + 1)

async function opened(server: Server, address: string, heard: Heard): Promise<void> {
  server.listen(heard.port, address)
  await once(server, 'listening')
  heard.port = (server.address() as AddressInfo).port
  stops.push(() => server.close())
}

function hear(heard: Heard, socket: Socket, answer = (_text: Buffer): Message[] => []): void {
  heard.connections += 1
  heard.sockets.push(socket)
  stops.push(() => socket.destroy())
  socket.on('error', () => undefined)
  let greeting = Buffer.alloc(0)
  let isGreeted = false
  socket.on('data', (bytes) => {
    if (isGreeted) {
      heard.text += bytes.toString('latin1')
      for (const message of answer(bytes)) socket.write(writeMessage(message))
      return
    }
    greeting = Buffer.concat([greeting, bytes])
    if (greeting.length < 1537) return
    isGreeted = true
    // S0 and S1, with the version of C1, and C1 again as S2.
    const echo = greeting.subarray(1, 1537)
    socket.write(Buffer.concat([Buffer.from([3]), Buffer.alloc(1536, 1).fill(0, 0, 8), echo]))
  })
}

test('an RTMP source is dialled at the checked address, and its server gets the host name', async () => {
  const honest = await rtmpServer('127.0.0.2')
  const victim = await rtmpServer('127.0.0.1', honest.port)
  const at = `live.example.com:${honest.port}`
  const names = await pull(`rtmp://${at}/app/stream`, [['127.0.0.2'], ['127.0.0.1']])
  await until(() => honest.text.includes('tcUrl'), 'the connect command')
  expect(honest.text).toContain(`rtmp://${at}/app`)
  expect(names.questions).toBe(1)
  // Its connection ends, and by the next attempt the name resolves to another address.
  honest.sockets.forEach((socket) => socket.destroy())
  await until(() => messages('log').includes(FORBIDDEN), 'a refusal')
  expect([victim.connections, names.questions]).toEqual([0, 2])
})

test('a source whose name resolves to a public and a private address is never dialled', async () => {
  const honest = await rtmpServer('127.0.0.2')
  await pull(`rtmp://live.example.com:${honest.port}/app/stream`, [['127.0.0.2', '10.0.0.1']])
  await until(() => messages('log').includes(FORBIDDEN), 'a refusal')
  expect(honest.connections).toBe(0)
})

test('an unknown host name is a temporary failure: it may resolve later', async () => {
  const honest = await rtmpServer('127.0.0.2')
  const names = await pull(`rtmp://live.example.com:${honest.port}/app/stream`, [[], ['127.0.0.2']])
  await until(() => honest.connections > 0, 'a second try')
  expect([message(), names.questions]).toEqual(['', 2])
  expect(messages('log')).toContain('The source gives no media; it is dialled again')
})

/** What every user of the machine can read of a process, and what only its own user can. */
const givenTo = async (pid: number): Promise<string> =>
  `${await readFile(`/proc/${pid}/cmdline`, 'latin1')} ${await readFile(`/proc/${pid}/environ`, 'latin1')}`

test('no arguments and no environment of ffmpeg and its guard contain the source or our secrets', async () => {
  const port = await ownPort()
  sendSrt(port)
  vi.stubEnv('SLUICE_SECRETS_SEALING_KEY', 'sealing-key-of-this-test')
  stops.push(() => vi.unstubAllEnvs())
  await pull(`srt://live.example.com:${port}?passphrase=not-to-be-told&streamid=nor-is-this`, [['127.0.0.2']])
  await until(() => events.some(({ kind }) => kind === 'source'), 'frames')
  const processes = await workingIn(join(dir, 'channels', 'en_1'))
  expect(processes).not.toEqual([])
  const given = (await Promise.all(processes.map(givenTo))).join(' ')
  for (const secret of ['not-to-be-told', 'nor-is-this', `:${port}`, 'sealing-key-of-this-test']) {
    expect(given).not.toContain(secret)
  }
})

test('the message about a source that does not answer has no address, key or query', async () => {
  const gone = await rtmpServer('127.0.0.2')
  stops.pop()?.()
  const source = `rtmp://live.example.com:${gone.port}/studio/stream-key-1?token=query-key-1`
  await pull(source, [['127.0.0.2']])
  await until(() => messages('log').includes('gives no media'), 'a word on the source')
  expect(messages('log')).toContain('the host refuses connections')
  for (const part of ['live.example.com', '127.0.0.2', 'studio', 'stream-key-1', 'query-key-1', 'pipe:0']) {
    expect(messages('log')).not.toContain(part)
  }
})

test('a source whose clock jumps plays on, and the log says so', async () => {
  const port = await ownPort()
  sendSrt(port, String.raw`setpts=PTS+gte(N\,75)*5000/TB`)
  await pull(`srt://live.example.com:${port}?passphrase=not-to-be-told`, [['127.0.0.2']])
  await until(() => messages('log').includes('The clock of the publisher jumps'), 'a word on the clock')
  expect(events.filter(({ kind }) => kind === 'source' || kind === 'sourceLost')).toEqual([{ kind: 'source' }])
})

test('an SRT source plays from the checked address', async () => {
  const port = (await rtmpServer('127.0.0.2')).port
  await pull(`srt://live.example.com:${port}?passphrase=not-to-be-told&latency=100`, [['127.0.0.2']])
  await until(() => messages('log') !== '', 'a try that comes to nothing')
  expect(messages('log')).toContain('The source gives no media')
  expect(messages('log')).not.toContain('not-to-be-told')
  sendSrt(port)
  await until(() => events.some(({ kind }) => kind === 'source'), 'frames')
})

/** @param filter of the video */
function sendSrt(port: number, filter = 'null'): ChildProcess {
  const coded = '-fps_mode passthrough -c:v libx264 -preset ultrafast -g 25 -pix_fmt yuv420p'
  const video = `-re -f lavfi -i testsrc2=size=192x108:rate=25 -vf ${filter} ${coded}`
  const args =
    `-loglevel error ${video} -f mpegts srt://127.0.0.2:${port}?mode=listener&passphrase=not-to-be-told`.split(' ')
  return ended(spawn('ffmpeg', args, { stdio: 'ignore' }))
}

test('an RTMPS source gets its name in the handshake, and must prove it', async () => {
  const heard: Heard & { names: unknown[] } = { port: 0, connections: 0, text: '', sockets: [], names: [] }
  const secured = (socket: TLSSocket) => {
    heard.names.push(socket.servername)
    hear(heard, socket)
  }
  const server = createTlsServer(authority.issue('live.example.com'), secured)
  server.on('tlsClientError', () => heard.names.push('refused'))
  await opened(server, '127.0.0.2', heard)
  const at = `live.example.com:${heard.port}`
  const source = `rtmps://${at}/app/stream`
  const trust = createSecureContext({ ca: await readFile(authority.caFile, 'utf8') })
  await pull(source, [['127.0.0.2']], { trust })
  await until(() => heard.text.includes('tcUrl'), 'the connect command')
  expect(heard.text).toContain(`rtmps://${at}/app`)
  expect(heard.names).toEqual(['live.example.com'])

  await transcoder?.stop()
  // No authority that we trust has signed its certificate.
  await pull(source, [['127.0.0.2']])
  await until(() => heard.names.length > 1, 'another handshake')
  expect(heard.names.slice(1)).not.toContain('live.example.com')
})

test('an RTMP server that redirects its clients cannot redirect Sluice', async () => {
  const victim = await rtmpServer('127.0.0.1')
  const honest = await redirectingServer('127.0.0.2', `rtmp://127.0.0.1:${victim.port}/app/stream`)
  await pull(`rtmp://live.example.com:${honest.port}/app/stream`, [['127.0.0.2']])
  await until(() => message() !== '', 'an end of the tries')
  expect([victim.connections, honest.connections]).toEqual([0, 3])
  expect(message()).toContain('redirects to another address, which is not followed')
  expect(events.at(-1)).toMatchObject({ kind: 'died', isFinal: true })
})
