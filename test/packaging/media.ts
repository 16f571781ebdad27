import { execFile, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { ownPort } from '../support/ownPort.ts'

const run = promisify(execFile)

/** A server of an installed package. */
export interface Installed {
  readonly ports: Ports
  /** Standard output of a command of its `sluice`. */
  readonly cli: (...argv: string[]) => Promise<string>
}

export interface Ports {
  readonly http: number
  readonly rtmp: number
  readonly srt: number
  readonly webrtc: number
}

export const ownPorts = async (): Promise<Ports> => ({
  http: await ownPort(),
  rtmp: await ownPort(),
  srt: await ownPort(),
  webrtc: await ownPort(),
})

export const settingsOf = ({ http, rtmp, srt, webrtc }: Ports): Record<string, string> => ({
  SLUICE_SERVER_PORT: String(http),
  SLUICE_RTMP_PORT: String(rtmp),
  SLUICE_SRT_PORT: String(srt),
  SLUICE_WEBRTC_PORT: String(webrtc),
})

/** 0: no answer within 5 seconds, as from a connection of before whose server is gone. */
export const statusOf = (ports: Ports, path: string): Promise<number> =>
  fetch(`http://127.0.0.1:${ports.http}${path}`, { signal: AbortSignal.timeout(5000) }).then(
    ({ status }) => status,
    () => 0,
  )

export const isReady = (ports: Ports): Promise<void> => expect.poll(() => statusOf(ports, '/readyz')).toBe(200)

/** Publishes over RTMP with a token, and watches over HLS what arrives. */
export async function expectMedia({ ports, cli }: Installed, token: string): Promise<void> {
  const [{ id: account }] = JSON.parse(await cli('account', 'list', '--json')) as [{ id: string }]
  const sources = ['-re', '-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=25', '-f', 'lavfi', '-i', 'sine']
  const codecs = ['-c:v', 'libx264', '-preset', 'ultrafast', '-g', '25', '-c:a', 'aac']
  const target = `rtmp://127.0.0.1:${ports.rtmp}/v2/pub/show?token=${token}`
  const publisher = spawn('ffmpeg', ['-v', 'error', ...sources, ...codecs, '-f', 'flv', target], { stdio: 'ignore' })
  try {
    const playlist = `http://127.0.0.1:${ports.http}/hls/${account}/show/index.m3u8`
    await expect.poll(() => codecsIn(playlist)).toEqual(['aac', 'h264'])
  } finally {
    publisher.kill('SIGKILL')
  }
}

/** As a player finds them; empty until it can play. */
async function codecsIn(playlist: string): Promise<string[]> {
  const args = [
    '-v',
    'error',
    '-read_intervals',
    '%+1',
    '-show_entries',
    'stream=codec_name',
    '-of',
    'csv=p=0',
    playlist,
  ]
  const { stdout } = await run('ffprobe', args, { timeout: 20_000 }).catch(() => ({ stdout: '' }))
  return [...new Set(stdout.split('\n').map((line) => line.trim().replace(/,$/, '')))].filter(Boolean).sort()
}
