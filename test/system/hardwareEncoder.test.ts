import { type ChildProcess, execFile } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { endChildren, pushTo } from '../support/channels.ts'
import { until } from '../support/until.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { ffmpegWithNvenc } from '../support/hardwareFfmpeg.ts'
import { command, newDirectory, sluice } from './cliProcess.ts'

const folder = newDirectory()
const open: ChannelsClient[] = []
afterEach(async () => {
  endChildren()
  for (const one of open.splice(0)) await one.close()
})
afterAll(() => rm(folder, { recursive: true }))

const FREE = {
  SLUICE_SERVER_HOST: '127.0.0.1',
  SLUICE_SERVER_PORT: '0',
  SLUICE_RTMP_PORT: '0',
  SLUICE_SRT_PORT: '0',
  SLUICE_WEBRTC_PORT: '0',
}
const NVENC = { ...FREE, SLUICE_FFMPEG_VIDEO_ENCODER: 'h264_nvenc' }

const LADDER = {
  name: 'small',
  video: [
    { label: '180p', width: 320, height: 180, bitrate: 300_000 },
    { label: '144p', width: 256, height: 144, bitrate: 100_000 },
  ],
  audio: { bitrate: 64 },
}

/** Starts a channel, pushes to it and waits until it plays. Returns its engine. */
async function play(live: ChannelsClient): Promise<string> {
  const { id: abrLadderId } = await live.made('POST', '/abr', LADDER)
  const engines = [{ name: 'Main', region: 'local', quality: { abrLadderId } }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', region: 'local', engines }]
  const { id, engines: made, ingests: cameras } = await live.made('POST', '/channels', { name: 'Stage', ingests })
  await live.v2('POST', `/channels/${id}/start`)
  const publisher: ChildProcess = pushTo(`rtmp://127.0.0.1:${live.running.rtmpPort}/live/${cameras[0].streamKey}`)
  await until(async () => (await live.made('GET', `/channels/${id}`)).status === 'playing', 'playing')
  expect(publisher.exitCode).toBeNull()
  return made[0].id
}

async function probe(url: string): Promise<string[]> {
  const args = ['-v', 'error', '-show_entries', 'stream=codec_name,width,height', '-of', 'json', url]
  const { streams } = JSON.parse((await promisify(execFile)('ffprobe', args)).stdout) as {
    streams: { codec_name: string; width?: number; height?: number }[]
  }
  return [...new Set(streams.map(({ codec_name, width, height }) => `${codec_name} ${width ?? ''}x${height ?? ''}`))]
}

describe('a hardware encoder that the configuration names', () => {
  test('encodes a channel, and each rendition plays', async () => {
    const { path, calls } = ffmpegWithNvenc(folder)
    const live = await runChannels({ flags: { ffmpeg: { path, videoEncoder: 'h264_nvenc', device: '0' } } })
    open.push(live)
    expect(readFileSync(calls, 'utf8').trim().split('\n')).toHaveLength(1)
    const engineId = await play(live)
    const [, running = ''] = readFileSync(calls, 'utf8').trim().split('\n')
    expect(running.match(/-c:v h264_nvenc -preset p2 .*? -gpu 0/g)).toHaveLength(2)
    const channelId = (await live.made('GET', `/engines/${engineId}`)).channelId as string
    const web = { name: 'Web', endpoints: { engineIds: [engineId] } }
    const { id } = await live.made('POST', `/channels/${channelId}/distributions`, web)
    const streams = await probe(`${live.running.base}/v2/distributions/${id}/hls/main.m3u8`)
    expect(streams.toSorted()).toEqual(['aac x', 'h264 256x144', 'h264 320x180'])
  })

  test('and does not work here keeps the server from starting, with a reason and a remedy', async () => {
    const refused = await sluice(['--data', join(folder, 'data'), 'serve'], { env: NVENC })
    expect(refused.status).toBe(1)
    const text = refused.stderr + refused.stdout
    expect(text).toMatch(/ffmpeg\.videoEncoder: h264_nvenc does not work here: ffmpeg ended with .*sluice doctor/s)
    const device = { ...FREE, SLUICE_FFMPEG_DEVICE: '/dev/dri/renderD128' }
    const noDevice = await sluice(['--data', join(folder, 'data'), 'serve'], { env: device })
    expect(noDevice.status).toBe(1)
    expect(noDevice.stderr + noDevice.stdout).toContain('ffmpeg.device: libx264 takes no device')
  })
})

test('with libx264 the start runs no ffmpeg', async () => {
  const [path, calls] = [join(folder, 'recorded'), join(folder, 'starts')]
  writeFileSync(path, `#!/bin/sh\necho "$*" >> '${calls}'\nexec ffmpeg "$@"\n`)
  chmodSync(path, 0o755)
  open.push(await runChannels({ flags: { ffmpeg: { path } } }))
  expect(existsSync(calls)).toBe(false)
})

describe('the doctor', () => {
  const doctor = (env: Record<string, string>) => command(['--data', join(folder, 'data'), 'doctor'], { env })

  test('names the encoder that works, and those that only this ffmpeg has', async () => {
    const { stdout } = await doctor(FREE)
    expect(stdout).toMatch(/^ok +video encoder +libx264 works$/m)
    expect(stdout).toMatch(/^ok +hardware encoders +ffmpeg has .*h264_nvenc.*, and this machine does not$/m)
    const { path } = ffmpegWithNvenc(folder)
    const other = await doctor({ ...FREE, SLUICE_FFMPEG_PATH: path })
    expect(other.stdout).toMatch(
      /^ok +hardware encoders +h264_nvenc would work: see ffmpeg\.videoEncoder; ffmpeg has /m,
    )
    const chosen = await doctor({ ...NVENC, SLUICE_FFMPEG_PATH: path })
    expect(chosen.stdout).toMatch(/^ok +video encoder +h264_nvenc works$/m)
  })

  test('fails when the configured one does not work', async () => {
    const { status, stdout } = await doctor(NVENC)
    expect(status).toBe(1)
    expect(stdout).toMatch(
      /^FAIL +video encoder +h264_nvenc does not work, so the server does not start: ffmpeg ended/m,
    )
    const none = await doctor({ ...NVENC, SLUICE_FFMPEG_PATH: join(folder, 'none') })
    expect(none.stdout).toMatch(/^FAIL +video encoder .*There is no program/m)
  })
})
