import type { Socket } from 'node:net'
import { err, ok } from '../base/result.ts'
import { pullScheme } from '../core/pulls/source.ts'
import { readSrtParameters } from '../core/srtAddress.ts'
import { type Ffmpeg, ffmpegOf } from '../media/ffmpeg/ffmpeg.ts'
import type { DialledSource, DialSource, PulledSource, SourceOptions } from '../media/pulling.ts'
import { RtmpPlayer } from '../media/rtmp/player.ts'
import { RtspPull } from '../media/rtsp/pull.ts'
import { SrtPull } from '../media/srt/pull.ts'
import { dial } from '../net/dial.ts'
import { dialUdp } from '../net/dialUdp.ts'
import type { Stage } from '../net/outcome.ts'
import { dialledUrl, dialProblem, type MediaDialling } from './mediaDialling.ts'
import { openWhepSource, type SourceApp } from './whepSource.ts'

export interface SourceParts {
  readonly app: SourceApp
  readonly ffmpeg: Ffmpeg
  readonly how: MediaDialling
}

/** Dials sources through the guard: for pulls into streams, and for channels that pull. */
export function sourceDialler(parts: SourceParts): DialSource {
  return async (url, signal) => {
    let stage: Stage = 'resolve'
    try {
      return ok(await dialled(parts, url, signal, (next) => void (stage = next)))
    } catch (error) {
      return err(dialProblem(stage, error, 'source'))
    }
  }
}

function dialled(
  parts: SourceParts,
  url: URL,
  signal: AbortSignal,
  reached: (stage: Stage) => void,
): Promise<DialledSource> {
  const { carrier } = pullScheme(url)
  return carrier === 'udp' ? overUdp(parts, url, signal, reached) : overTcp(parts, url, signal, reached)
}

async function overUdp(
  { app: { ctx, config }, how }: SourceParts,
  url: URL,
  signal: AbortSignal,
  reached: (stage: Stage) => void,
): Promise<DialledSource> {
  const parameters = readSrtParameters(url)
  if (!parameters.ok) throw new Error(`the address of a stored source ${parameters.error}`)
  const { port } = pullScheme(url)
  const socket = await dialUdp(url, { ...how(port, 'udp'), random: ctx.random }, signal, reached)
  const { maxFrameBytes } = config.srt
  return {
    peer: socket.remoteAddress().address,
    close: () => void socket.close(),
    open: async (options) => new SrtPull({ ...ctx, ...options, ...parameters.value, socket, maxFrameBytes }),
  }
}

async function overTcp(
  parts: SourceParts,
  url: URL,
  signal: AbortSignal,
  reached: (stage: Stage) => void,
): Promise<DialledSource> {
  const { port, isEncrypted } = pullScheme(url)
  const socket = await dial(dialledUrl(url, port, isEncrypted), parts.how(port, 'tcp'), signal, reached)
  return {
    peer: socket.remoteAddress ?? '',
    close: () => void socket.destroy(),
    open: (options) => openOverTcp(parts, url, socket, options),
  }
}

async function openOverTcp(
  { app, ffmpeg, how }: SourceParts,
  url: URL,
  socket: Socket,
  options: SourceOptions,
): Promise<PulledSource> {
  const { ctx, config } = app
  const source = { ...ctx, ...options, url, socket }
  const { maxFrameBytes } = config.srt
  const open = {
    rtsp: () => new RtspPull({ ...source, maxFrameBytes, ffmpeg: ffmpegOf(ffmpeg, options.accountId) }),
    rtmp: () => new RtmpPlayer({ ...source, maxFrameBytes: config.rtmp.maxMessageBytes }),
    whep: () => openWhepSource(app, how, source),
    srt: () => Promise.reject(new Error('SRT is dialled over UDP')),
  }
  return open[pullScheme(url).way]()
}
