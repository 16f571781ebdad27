import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { TsIngest } from '../../src/media/mpegts/ingest.ts'
import { H264_AAC } from '../media/mpegts/clips.ts'
import { NULL_PACKET } from '../media/mpegts/muxer.ts'
import { listenForSrt } from '../media/srt/publications.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { clip, clipFile } from '../support/clips.ts'
import { lossyLink } from '../support/lossyUdp.ts'
import { makeToken } from '../support/testNode.ts'
import { pace, until } from '../support/until.ts'
import { findProgram, type Program } from './programs.ts'

/** A program that sends the transport stream of its standard input to an address of SRT. */
interface Caller {
  readonly name: string
  readonly program: Program | null
  readonly args: (url: string) => string[]
}

const gstreamer = findProgram('gst-launch-1.0', ['gstreamer1.0-tools'])
const hasSink = spawnSync('gst-inspect-1.0', ['srtsink']).status === 0
const TRANSMIT: Caller = {
  name: 'srt-live-transmit',
  program: findProgram('srt-live-transmit', ['srt-tools', 'libsrt1.5-openssl']),
  // It reads ten chunks before it sends the first of them, if it is not told otherwise.
  args: (url) => ['-chunk:1316', '-buffering:1', 'file://con', url],
}
const FFMPEG: Caller = {
  name: 'ffmpeg',
  program: { path: 'ffmpeg', env: process.env },
  args: (url) => `-v error -analyzeduration 500000 -f mpegts -i pipe:0 -map 0 -c copy -f mpegts ${url}`.split(' '),
}
const CALLERS: readonly Caller[] = [
  TRANSMIT,
  {
    name: "GStreamer's srtsink",
    program: hasSink ? gstreamer : null,
    args: (url) => `-q fdsrc ! tsparse set-timestamps=true alignment=7 ! srtsink uri=${url}`.split(' '),
  },
]

let sluice: RunningApp
const running: ChildProcess[] = []

beforeAll(async () => {
  sluice = await runApp()
})
afterEach(async () => {
  const left = running.splice(0).filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
  const ended = left.map((child) => once(child, 'exit'))
  for (const child of left) child.kill('SIGKILL')
  await Promise.all(ended)
  await until(() => sluice.app.ctx.sessions.size === 0)
})
afterAll(() => sluice.close())

/** A broadcast in real time, over and over. */
function broadcast(): Readable {
  const file = ['-re', '-stream_loop', '-1', '-f', 'mpegts', '-i', clipFile(H264_AAC, 'ts')]
  const source = spawn('ffmpeg', ['-v', 'error', ...file, '-c', 'copy', '-f', 'mpegts', 'pipe:1'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  running.push(source)
  return source.stdout
}

function call({ program, args }: Caller, url: string, source: Readable | 'pipe'): ChildProcess {
  const stdio = [source, 'ignore', 'ignore'] as const
  const caller = spawn(program?.path ?? '', args(url), { env: program?.env, stdio: [...stdio] })
  running.push(caller)
  return caller
}

const onAir = async () => (await sluice.call('GET', '/api/streams/live')).json.data as Record<string, unknown>[]

describe.each(CALLERS)('$name', (caller) => {
  const { name, program } = caller
  if (program === null) console.warn(`${name} is left out: it is not installed, and its Debian package cannot be had`)

  test.skipIf(program === null).each([
    ['in the clear', null],
    ['with AES-128', 16],
    ['with AES-192', 24],
    ['with AES-256', 32],
  ])('is on the air, %s, and ends with its token', async (_, keyBytes) => {
    const { id, token, srtPassphrase } = await makeToken(sluice, 'publish', { displaySrtPassphrase: true })
    const secret = keyBytes === null ? '' : `%26e&passphrase=${srtPassphrase}&pbkeylen=${keyBytes}`
    call(caller, `srt://127.0.0.1:${sluice.srtPort}?streamid=show%3Ft%3D${token}${secret}`, broadcast())
    const stream = await until(async () => {
      const [found] = await onAir()
      return found?.['audioCodec'] && found
    })
    expect(stream).toMatchObject({ protocol: 'srt', videoCodec: 'h264', audioCodec: 'aac', width: 320, tokenId: id })
    await sluice.call('DELETE', `/api/publish_token/${id}`)
    await until(() => sluice.app.ctx.sessions.size === 0)
  })
})

/** As people write them into the address of a caller. */
const FORMS: readonly ((name: string, token: string) => string)[] = [
  (name, token) => `${name}?t=${Buffer.from(token, 'hex').toString('base64url')}`,
  (name, token) => encodeURIComponent(`${name}?token=${token}`),
  (name, token) => encodeURIComponent(`#!::r=${name},m=publish,s=${token}`),
  (name, token) => encodeURIComponent(encodeURIComponent(`#!::u=${token},r=${name}`)),
  (name, token) => `publish:${name}:${token}`,
  (name, token) => encodeURIComponent(`publish:${name}:me:${token}`),
]

test.each([FFMPEG, TRANSMIT].filter(({ program }) => program !== null))(
  '$name is on the air with each form of stream id',
  async (caller) => {
    const { id, token } = await makeToken(sluice, 'publish')
    const names = FORMS.map((_, at) => `form-${at}`)
    for (const [at, name] of names.entries()) {
      call(caller, `srt://127.0.0.1:${sluice.srtPort}?streamid=${FORMS[at]?.(name, token)}`, broadcast())
    }
    const seen = new Set<string>()
    await until(async () => {
      for (const { streamName } of await onAir()) seen.add(String(streamName))
      return seen.size === names.length
    }, 'each stream id')
    expect(new Set(names)).toEqual(seen)
    await sluice.call('DELETE', `/api/publish_token/${id}`)
  },
)

/** 6 Mbit/s for four seconds: more than 2,000 datagrams. */
const NOISE =
  '-f lavfi -i testsrc2=size=640x360:rate=25:duration=4,noise=alls=60:allf=t -c:v libx264 -preset ultrafast -b:v 6M -maxrate 6M -bufsize 6M'
const DATAGRAM_BYTES = 1316
/** 4 Mbit/s. */
const DATAGRAMS_AT_ONCE = 4
const PAUSE_MS = 10

/** Sends a transport stream through a link that loses packets both ways. Returns what came of it, and what the listener counted. */
async function throughLoss(share: number, latencyMs: number) {
  const taken = vi.spyOn(TsIngest.prototype, 'take')
  onTestFinished(() => taken.mockRestore())
  const listener = await listenForSrt()
  onTestFinished(() => listener.stop())
  const link = await lossyLink(listener.port, 7)
  onTestFinished(() => link.close())
  const { stdin } = call(TRANSMIT, `srt://127.0.0.1:${link.port}?latency=${latencyMs}`, 'pipe')
  const sent = await until(() => stdin)
  const [publication] = await until(() => listener.publications.length > 0 && listener.publications)
  link.lose(share)
  const bytes = clip(NOISE, 'ts')
  for (let at = 0; at < bytes.length; at += DATAGRAMS_AT_ONCE * DATAGRAM_BYTES) {
    sent.write(bytes.subarray(at, at + DATAGRAMS_AT_ONCE * DATAGRAM_BYTES))
    await pace(PAUSE_MS)
  }
  const counted = (): number => taken.mock.calls.length + (publication?.link?.givenUp ?? 0)
  await until(() => {
    // libsrt sends a lost packet again when it is reported, which takes a later one. A live stream always has one.
    for (let packet = 0; packet < 7; packet++) sent.write(NULL_PACKET)
    return counted() * DATAGRAM_BYTES >= bytes.length
  }, 'all datagrams')
  return { bytes, bodies: taken.mock.calls.map(([body]) => body), link: publication?.link }
}

describe.skipIf(TRANSMIT.program === null)('a transport stream through a link that loses', () => {
  test('a twentieth of the packets each way comes byte by byte', async () => {
    // What is whole leaves at once. On a busy machine the caller may stand still for a second before it sends again.
    const { bytes, bodies, link } = await throughLoss(0.05, 5000)
    expect(Buffer.concat(bodies).subarray(0, bytes.length).equals(bytes)).toBe(true)
    expect(link?.lost).toBeGreaterThan(50)
    expect(link?.givenUp).toBe(0)
  })

  test('a third of them each way goes on with gaps, which are counted', async () => {
    const { bytes, bodies, link } = await throughLoss(0.3, 120)
    expect(link?.givenUp).toBeGreaterThan(0)
    const places = bodies.map((body) => bytes.indexOf(body)).filter((at) => at >= 0)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(places.length).toBeGreaterThan(bytes.length / DATAGRAM_BYTES / 2)
  })
})
