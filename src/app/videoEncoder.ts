import { type App, CannotStart } from './app.ts'
import { offlineFfmpeg } from './offline.ts'
import { systemClock } from '../base/clock.ts'
import type { VideoEncoderTrial } from '../cli/host.ts'
import { tryEncoder } from '../media/encoder/trial.ts'
import { createFfmpeg } from '../media/ffmpeg/ffmpeg.ts'
import { type VideoEncoder, videoEncoderOf, X264 } from '../media/ffmpeg/videoEncoders.ts'

/**
 * The encoder that the configuration names. One with hardware has encoded some frames; nothing is tried with libx264.
 * @throws CannotStart when it does not work: without it every channel would fail, and only when it is on the air
 */
export async function openVideoEncoder({ config, ctx }: App): Promise<VideoEncoder> {
  const { videoEncoder: name, device } = config.ffmpeg
  const encoder = videoEncoderOf(name, device)
  if (!encoder.ok) throw new CannotStart(encoder.error)
  if (encoder.value === X264) return X264
  const problem = await tryVideoEncoder({ config, name, log: ctx.log })
  if (problem === null) return encoder.value
  const remedy =
    'sluice doctor shows which encoders work here; correct ffmpeg.path, ffmpeg.device or the driver, or set ' +
    'ffmpeg.videoEncoder to libx264'
  throw new CannotStart(`ffmpeg.videoEncoder: ${name} does not work here: ${problem}. To remedy it: ${remedy}`)
}

/** What is wrong with an encoder on the configured device, after an attempt of at most eight seconds; null: it works. */
export async function tryVideoEncoder({ config, name, log }: VideoEncoderTrial): Promise<string | null> {
  const { path, videoEncoder, device } = config.ffmpeg
  // The device is for the configured encoder.
  const encoder = videoEncoderOf(name, name === videoEncoder ? device : '')
  if (!encoder.ok) return encoder.error
  const offline = await offlineFfmpeg(log)
  const ffmpeg = createFfmpeg({ log, clock: systemClock, binary: path, maxChildren: () => 1, offline })
  return tryEncoder(ffmpeg, systemClock, encoder.value)
}
