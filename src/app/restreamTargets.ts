import type { App } from './app.ts'
import { dialledUrl, dialProblem, type MediaDialling } from './mediaDialling.ts'
import { isSrt, targetPort } from '../core/restream/targets.ts'
import { readSrtParameters } from '../core/srtAddress.ts'
import type { PlainMedia } from '../media/hls/plainMedia.ts'
import type { FrameSink, FrameSource, TrackInfo } from '../media/frame.ts'
import type { SenderEnd } from '../media/publishing.ts'
import { RtmpSender } from '../media/rtmp/sender.ts'
import { WithSilence } from '../media/rtmp/silence.ts'
import { SrtTarget } from '../media/srt/target.ts'
import { dial } from '../net/dial.ts'
import { dialUdp } from '../net/dialUdp.ts'
import type { Stage } from '../net/outcome.ts'
import type { AttemptEvent, OpenTarget, TargetAttempt } from '../services/restreams.ts'

/** What targets take as it is: `plain` over RTMP, `wide` over SRT. */
export const PASSES = {
  plain: ({ codec }: TrackInfo): boolean => ['h264', 'aac'].includes(codec),
  wide: ({ codec }: TrackInfo): boolean => ['h264', 'hevc', 'aac', 'opus'].includes(codec),
} as const

type Fit = keyof typeof PASSES

/** The media of a feed: as it is, and as targets take it. */
export interface FeedMedia extends Readonly<Record<Fit, PlainMedia>> {
  readonly source: FrameSource
}

interface Sending {
  /** Undefined: the feed is over. */
  readonly media: FeedMedia | undefined
  readonly report: (event: AttemptEvent) => void
  readonly how: MediaDialling
}

interface Sender extends FrameSink {
  readonly bytes: TargetAttempt['bytes']
  tick?(nowMs: number): void
}

/** What a sender tells, of either protocol. */
interface SenderEvents {
  readonly ready: () => void
  readonly accepted: () => void
  readonly ended: (how: SenderEnd) => void
}

/** A connection on which nothing was sent yet. */
interface Connected {
  begin(events: SenderEvents): Sender
  close(): void
}

/** A protocol of targets. */
interface Way {
  readonly fit: Fit
  connect(app: App, target: OpenTarget, at: Reaching): Promise<Connected>
  /** Many services that take RTMP take no video without audio. */
  readonly addsSilence: boolean
}

const OVER_RTMP: Way = { fit: 'plain', connect: connectRtmp, addsSilence: true }
const OVER_SRT: Way = { fit: 'wide', connect: connectSrt, addsSilence: false }

/** Dials a target, then sends to it. */
export function openAttempt(app: App, target: OpenTarget, { media, report, how }: Sending): TargetAttempt {
  const stopping = new AbortController()
  const { signal } = stopping
  const way = isSrt(target.url) ? OVER_SRT : OVER_RTMP
  let sender: Sender | null = null
  let stage: Stage = 'resolve'
  const ended = (end: SenderEnd): void => {
    stopping.abort()
    report(end)
  }
  const ready = (): void => {
    if (sender === null || media === undefined) return
    const failed = (message: string) => ended({ kind: 'lost', message: `The media cannot be converted: ${message}` })
    if (!target.transcode) until(signal, media.source.subscribe(uncarriedVideo(sender, PASSES[way.fit])))
    if (signal.aborted) return
    const taken = media[target.transcode ? 'plain' : way.fit]
    until(signal, taken.subscribe(way.addsSilence ? new WithSilence(sender) : sender, failed))
  }
  way.connect(app, target, { how, signal, reached: (reached) => (stage = reached) }).then(
    (connected) => {
      if (signal.aborted) connected.close()
      else sender = connected.begin({ ready, accepted: () => report({ kind: 'accepted' }), ended })
    },
    (error: unknown) => {
      if (!signal.aborted) ended({ kind: 'lost', message: dialProblem(stage, error, 'target') })
    },
  )
  return {
    get bytes() {
      return sender?.bytes ?? { bytesIn: 0, bytesOut: 0 }
    },
    tick: (nowMs) => sender?.tick?.(nowMs),
    end() {
      stopping.abort()
      sender?.end()
    },
  }
}

interface Reaching {
  readonly how: Sending['how']
  readonly signal: AbortSignal
  readonly reached: (stage: Stage) => void
}

async function connectRtmp({ ctx }: App, { url: text, key }: OpenTarget, at: Reaching): Promise<Connected> {
  const url = new URL(text)
  const port = targetPort(url)
  const dialled = dialledUrl(url, port, url.protocol === 'rtmps:')
  const socket = await dial(dialled, at.how(port, 'tcp'), at.signal, at.reached)
  return {
    begin: (events) => new RtmpSender({ ...ctx, ...events, socket, ...addressOf(url), key }),
    close: () => void socket.destroy(),
  }
}

async function connectSrt({ ctx }: App, { key }: OpenTarget, at: Reaching): Promise<Connected> {
  const url = new URL(key)
  const parameters = readSrtParameters(url)
  if (!parameters.ok) throw new Error(`the address of a stored target ${parameters.error}`)
  const socket = await dialUdp(url, { ...at.how(targetPort(url), 'udp'), random: ctx.random }, at.signal, at.reached)
  return {
    begin: (events) => new SrtTarget({ ...ctx, ...events, ...parameters.value, socket }),
    close: () => void socket.close(),
  }
}

/** Shows a sender the video that its protocol does not carry, which ends it before an encoder begins. */
const uncarriedVideo = (sender: FrameSink, passes: (track: TrackInfo) => boolean): FrameSink => ({
  tracks(tracks) {
    const foreign = tracks.filter((track) => track.kind === 'video' && !passes(track))
    if (foreign.length > 0) sender.tracks(foreign)
  },
  frame: () => undefined,
  end: () => undefined,
})

/** The feed may send tracks at once that end the attempt. */
function until(signal: AbortSignal, unsubscribe: () => void): void {
  if (signal.aborted) unsubscribe()
  else signal.addEventListener('abort', unsubscribe, { once: true })
}

const addressOf = (url: URL): { app: string; url: string } => ({
  app: url.pathname.replaceAll(/^\/+|\/+$/g, '') + url.search,
  url: url.href.replace(/\/+$/, ''),
})
