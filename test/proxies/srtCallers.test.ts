import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { H264_AAC } from '../media/mpegts/clips.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { clipFile } from '../support/clips.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { findProgram, type Program } from './programs.ts'

/** A program that sends the transport stream of its standard input to an address of SRT. */
interface Caller {
  readonly name: string
  readonly program: Program | null
  readonly args: (url: string) => string[]
}

const gstreamer = findProgram('gst-launch-1.0', ['gstreamer1.0-tools'])
const hasSink = spawnSync('gst-inspect-1.0', ['srtsink']).status === 0
const CALLERS: readonly Caller[] = [
  {
    name: 'srt-live-transmit',
    program: findProgram('srt-live-transmit', ['srt-tools', 'libsrt1.5-openssl']),
    args: (url) => ['-chunk:1316', 'file://con', url],
  },
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
})
afterAll(() => sluice.close())

describe.each(CALLERS)('$name', ({ name, program, args }) => {
  if (program === null) console.warn(`${name} is left out: it is not installed, and its Debian package cannot be had`)

  /** Sends a broadcast there in real time, over and over. */
  function call(query: string): ChildProcess {
    const file = ['-re', '-stream_loop', '-1', '-f', 'mpegts', '-i', clipFile(H264_AAC, 'ts')]
    const source = spawn('ffmpeg', ['-v', 'error', ...file, '-c', 'copy', '-f', 'mpegts', 'pipe:1'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const url = `srt://127.0.0.1:${sluice.srtPort}?${query}`
    const stdio = [source.stdout, 'ignore', 'ignore'] as const
    const caller = spawn(program?.path ?? '', args(url), { env: program?.env, stdio: [...stdio] })
    running.push(caller, source)
    return caller
  }

  test.skipIf(program === null).each([
    ['in the clear', null],
    ['with AES-128', 16],
    ['with AES-256', 32],
  ])('is on the air, %s, and ends with its token', async (_, keyBytes) => {
    const { id, token, srtPassphrase } = await makeToken(sluice, 'publish', { displaySrtPassphrase: true })
    const secret = keyBytes === null ? '' : `%26e&passphrase=${srtPassphrase}&pbkeylen=${keyBytes}`
    call(`streamid=show%3Ft%3D${token}${secret}`)
    const stream = await until(async () => {
      const [found] = (await sluice.call('GET', '/api/streams/live')).json.data
      return found?.audioCodec && found
    })
    expect(stream).toMatchObject({ protocol: 'srt', videoCodec: 'h264', audioCodec: 'aac', width: 320, tokenId: id })
    await sluice.call('DELETE', `/api/publish_token/${id}`)
    await until(() => sluice.app.ctx.sessions.size === 0)
  })
})
