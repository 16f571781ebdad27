import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/config/load.ts'
import type { Config } from '../../../src/config/schema.ts'
import type { Rung } from '../../../src/core/channels/runs/rungs.ts'
import { ladderArguments } from '../../../src/media/encoder/arguments.ts'
import { followingArguments } from '../../../src/media/encoder/followingArguments.ts'
import { type VideoEncoder, videoEncoderOf, X264 } from '../../../src/media/ffmpeg/videoEncoders.ts'
import { slateArguments } from '../../../src/media/slate/arguments.ts'

type Name = Config['ffmpeg']['videoEncoder']

function encoderOf(name: Name, device = ''): VideoEncoder {
  const encoder = videoEncoderOf(name, device)
  if (!encoder.ok) throw new Error(encoder.error)
  return encoder.value
}

const RUNGS: Rung[] = [
  { index: 0, id: 'a', label: 'a', width: 1280, height: 720, bitrate: 2_500_000, frameRate: null },
  { index: 1, id: 'b', label: 'b', width: 640, height: 360, bitrate: 700_000, frameRate: null },
]
const LADDER = { rungs: RUNGS, audioKbps: 128, hasVideo: true, audioTracks: [0] } as const

const after = (args: readonly string[], word: string): string => args[args.indexOf(word) + 1] ?? ''

/** The options of one output, from its encoder to its container. */
function outputs(args: readonly string[]): string[] {
  const starts = args.flatMap((word, at) => (word === '-map' && args[at + 1]?.startsWith('[v') ? [at + 2] : []))
  return starts.map((at) => args.slice(at, args.indexOf('-f', at)).join(' '))
}

const KEYS = '-fps_mode passthrough -enc_time_base 1:90000 -force_key_frames'
const RATES = '-b:v 700000 -maxrate:v 770000 -bufsize:v 350000'

const TABLE: readonly (readonly [name: Name, device: string, before: string, upload: string, options: string])[] = [
  [
    'libx264',
    '',
    '',
    '',
    '-preset superfast -tune zerolatency -pix_fmt yuv420p -profile:v high -g 600 -sc_threshold 0 -x264-params force-cfr=0',
  ],
  [
    'h264_nvenc',
    '1',
    '',
    '',
    '-preset p2 -tune ll -rc vbr -forced-idr 1 -no-scenecut 1 -delay 0 -zerolatency 1 -pix_fmt yuv420p -profile:v high -bf 0 -g 600 -gpu 1',
  ],
  [
    'h264_vaapi',
    '/dev/dri/renderD129',
    '-init_hw_device vaapi=encoder:/dev/dri/renderD129 -filter_hw_device encoder',
    ',format=nv12,hwupload',
    '-async_depth 1 -profile:v high -bf 0 -g 600',
  ],
  [
    'h264_vaapi',
    '',
    '-init_hw_device vaapi=encoder -filter_hw_device encoder',
    ',format=nv12,hwupload',
    '-async_depth 1 -profile:v high -bf 0 -g 600',
  ],
  [
    'h264_qsv',
    '/dev/dri/renderD128',
    '-init_hw_device qsv=encoder,child_device=/dev/dri/renderD128',
    '',
    '-preset veryfast -forced_idr 1 -look_ahead 0 -async_depth 1 -pix_fmt nv12 -profile:v high -bf 0 -g 600',
  ],
  ['h264_videotoolbox', '', '', '', '-realtime 1 -allow_sw 0 -pix_fmt nv12 -profile:v high -bf 0 -g 600'],
  ['h264_v4l2m2m', '', '', '', '-num_output_buffers 32 -num_capture_buffers 32 -pix_fmt yuv420p -bf 0 -g 600'],
]

test.each(TABLE)('%s on the device "%s" encodes each rung', (name, device, before, upload, options) => {
  const encoder = encoderOf(name, device)
  const args = ladderArguments(LADDER, encoder)
  expect(args.slice(3, args.indexOf('-copyts')).join(' ')).toBe(before)
  const branches = after(args, '-filter_complex').split(';')
  expect(branches.slice(1, 3).map((one) => one.slice(one.indexOf(',setsar=1')))).toEqual([
    `,setsar=1${upload}[v0]`,
    `,setsar=1${upload}[v1]`,
  ])
  // The thumbnail is made by the processor.
  expect(branches[3]).not.toContain('hwupload')
  const [, small] = outputs(args)
  expect(small).toBe(`-c:v ${name} ${options} ${KEYS} ${after(args, '-force_key_frames')} ${RATES}`)
  expect(args.join(' ')).toContain('-c:v mjpeg')
  expect(args.filter((word) => word === '+delay_moov')).toHaveLength(name === 'h264_v4l2m2m' ? 2 : 0)
})

test.each(TABLE)('%s on the device "%s" encodes the renditions of a feed', (name, device, before, upload, options) => {
  const args = followingArguments([{ rung: RUNGS[1]!, fromUs: 2_000_000 }], encoderOf(name, device))
  expect(args.slice(3, args.indexOf('-probesize')).join(' ')).toBe(before)
  expect(after(args, '-filter_complex')).toBe(
    `[0:v:0]split=1[s0];[s0]select=gte(t\\,2.000000),scale=w=640:h=360${upload}[v0]`,
  )
  const rates = name === 'libx264' ? '-crf 23 -maxrate:v 770000 -bufsize:v 350000' : RATES
  const keys = '-force_key_frames source -fps_mode passthrough -enc_time_base 1:90000'
  expect(outputs(args)).toEqual([`-c:v ${name} ${options} ${keys} ${rates}`])
})

test('radio opens no device', () => {
  const args = ladderArguments({ ...LADDER, hasVideo: false }, encoderOf('h264_vaapi'))
  expect(args).not.toContain('-init_hw_device')
})

test('a slate is encoded by libx264', () => {
  const media = { mediaType: 'image/png', durationMs: null, hasAudio: false, width: 64, height: 36 } as const
  const args = slateArguments({ media, file: 'slate', rungs: RUNGS, audioKbps: null })
  expect(outputs(args).map((one) => one.slice(0, 13))).toEqual(RUNGS.map(() => '-c:v libx264 '))
})

test('a device of the wrong kind is refused, and the sentence says which is right', () => {
  const problem = (name: Name, device: string) => {
    const encoder = videoEncoderOf(name, device)
    return encoder.ok ? null : encoder.error
  }
  expect(problem('libx264', '/dev/dri/renderD128')).toBe('ffmpeg.device: libx264 takes no device; leave it empty')
  expect(problem('h264_v4l2m2m', '/dev/video11')).toContain('takes no device')
  expect(problem('h264_nvenc', '/dev/nvidia0')).toContain('the number of a GPU, such as 0, not /dev/nvidia0')
  expect(problem('h264_vaapi', '0')).toContain('a path such as /dev/dri/renderD128, not 0')
})

test('no text of the configuration becomes an option of a device', () => {
  for (const device of ['/dev/dri/renderD128,driver=x', 'renderD128', '/dev/dri/a b', '-1', '/dev/dri/x=y'])
    expect(loadConfig({ env: {}, flags: { ffmpeg: { device } } }).ok, device).toBe(false)
  for (const device of ['', '1', '/dev/dri/by-path/pci-0000:00:02.0-render'])
    expect(loadConfig({ env: {}, flags: { ffmpeg: { device } } }).ok, device).toBe(true)
})

/** Options of every encoder. */
const GENERIC = new Set(['-c:v', '-bf', '-g', '-pix_fmt'])

test.each(TABLE)('this ffmpeg knows each option of %s, if it has the encoder', (name) => {
  const help = execFileSync('ffmpeg', ['-hide_banner', '-h', `encoder=${name}`]).toString()
  if (!help.includes('AVOptions')) return
  const { options } = encoderOf(name)
  const own = options.filter((word) => /^-[a-z]/.test(word) && !GENERIC.has(word)).map((word) => word.replace(':v', ''))
  for (const option of own) expect(help, option).toMatch(new RegExp(`^ +${option} `, 'm'))
})

test('libx264 is the default, and needs no device', () => {
  const config = loadConfig({ env: {} })
  expect(config.ok && config.value.ffmpeg).toMatchObject({ videoEncoder: 'libx264', device: '' })
  expect(encoderOf('libx264')).toBe(X264)
})
