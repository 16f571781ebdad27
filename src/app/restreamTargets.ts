import type { Socket as UdpSocket } from 'node:dgram'
import type { Socket } from 'node:net'
import type { App } from './app.ts'
import { type FeedMedia, type Fit, PASSES } from './feedMedia.ts'
import { dialledUrl, dialProblem, type MediaDialling } from './mediaDialling.ts'
import { connectWhip } from './whipTarget.ts'
import type { Clock } from '../base/clock.ts'
import { coded, say } from '../core/notices.ts'
import type { AttemptEvent } from '../core/restream/driver.ts'
import { targetPort } from '../core/restream/targets.ts'
import { readSrtParameters } from '../core/srtAddress.ts'
import { Continuation } from '../media/continuation.ts'
import type { FrameSink, TrackInfo } from '../media/frame.ts'
import type { SenderEnd, SenderMove } from '../media/publishing.ts'
import { RtmpSender } from '../media/rtmp/sender.ts'
import { WithSilence } from '../media/rtmp/silence.ts'
import { RtspSender } from '../media/rtsp/sender.ts'
import { runAddon } from '../media/srt/datagramRuns.ts'
import { SrtTarget } from '../media/srt/target.ts'
import { dial } from '../net/dial.ts'
import { dialUdp } from '../net/dialUdp.ts'
import type { Stage } from '../net/outcome.ts'
import type { OpenTarget, TargetAttempt } from '../services/restreams.ts'

interface Sending {
  /** Undefined: the feed is over. */
  readonly media: FeedMedia | undefined
  readonly report: (event: AttemptEvent) => void
  readonly how: MediaDialling
  readonly leaving: LeavingCalls
}

/** SRT calls without a broadcast, whose targets still show what they have, by their addresses. */
export class LeavingCalls {
  readonly #calls = new Map<string, SrtTarget>()

  /** Until its socket is closed. */
  add(address: string, call: SrtTarget, socket: UdpSocket): void {
    this.#calls.set(address, call)
    socket.once('close', () => {
      if (this.#calls.get(address) === call) this.#calls.delete(address)
    })
  }

  /** Makes room for the next call: a target that has one refuses another. */
  hangUp(address: string): void {
    this.#calls.get(address)?.hangUp()
  }

  /** Broadcasts go on at other nodes. */
  hangUpAll(): void {
    for (const call of this.#calls.values()) call.hangUp()
  }
}

interface Sender extends FrameSink {
  readonly bytes: TargetAttempt['bytes']
  /** Whether the target takes a track as it is. */
  takes(track: TrackInfo): boolean
  tick?(nowMs: number): void
}

/** What a sender tells, of either protocol. */
interface SenderEvents {
  readonly ready: () => void
  readonly accepted: () => void
  readonly ended: (how: SenderEnd | SenderMove) => void
}

/** A connection on which nothing was sent yet. */
interface Connected {
  begin(events: SenderEvents): Sender
  close(): void
}

/** A protocol of targets. */
interface Way {
  /** The media for a target that takes this video as it is; undefined: there is none. */
  readonly fitOf: (video: TrackInfo | undefined) => Fit
  /** The media for a target that encodes again what it does not take. */
  readonly encoded: Fit
  connect(app: App, target: OpenTarget, at: Reaching): Promise<Connected>
  /** Many services that take RTMP take no video without audio. */
  readonly addsSilence: boolean
}

/** Targets that encode again have `plain` too, so that all share one conversion of audio. */
const overRtmp = (video: TrackInfo | undefined): Fit =>
  video === undefined || PASSES.plain(video) ? 'plain' : 'enhanced'

const RTMP: Way = { fitOf: overRtmp, encoded: 'plain', connect: connectRtmp, addsSilence: true }
/** What viewers over WebRTC get, converted once for all of these targets. */
const WHIP: Way = { fitOf: () => 'webRtc', encoded: 'webRtc', connect: connectWhip, addsSilence: false }
const SRT: Way = { fitOf: () => 'wide', encoded: 'plain', connect: connectSrt, addsSilence: false }
const RTSP: Way = { fitOf: () => 'whole', encoded: 'plain', connect: connectRtsp, addsSilence: false }
/** By the protocol of the URL. */
const WAYS: Readonly<Record<string, Way>> = {
  'rtmp:': RTMP,
  'rtmps:': RTMP,
  'srt:': SRT,
  'whip:': WHIP,
  'whips:': WHIP,
  'rtsp:': RTSP,
  'rtsps:': RTSP,
}

function wayOf({ url }: OpenTarget): Way {
  const way = WAYS[new URL(url).protocol]
  if (way === undefined) throw new Error('the URL of a target was not checked')
  return way
}

/** Dials a target, then sends to it. */
export function openAttempt(app: App, target: OpenTarget, { media, report, how, leaving }: Sending): TargetAttempt {
  const stopping = new AbortController()
  const { signal } = stopping
  const way = wayOf(target)
  let sender: Sender | null = null
  let stage: Stage = 'resolve'
  const ended = (end: SenderEnd | SenderMove): void => {
    stopping.abort()
    report(end)
  }
  const ready = (): void => {
    if (sender === null || media === undefined) return
    const failed = (text: string) => ended({ kind: 'lost', ...say(coded('target_media_not_converted', { text })) })
    feedSender(sender, { media, target, way, clock: app.ctx.clock, signal, failed })
  }
  way.connect(app, target, { how, leaving, signal, reached: (reached) => (stage = reached) }).then(
    (connected) => {
      if (signal.aborted) connected.close()
      else sender = connected.begin({ ready, accepted: () => report({ kind: 'accepted' }), ended })
    },
    (error: unknown) => {
      if (!signal.aborted) ended({ kind: 'lost', ...dialProblem(stage, error, 'target') })
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
  readonly leaving: LeavingCalls
  readonly signal: AbortSignal
  readonly reached: (stage: Stage) => void
}

function dialTcp(url: URL, at: Reaching): Promise<Socket> {
  const port = targetPort(url)
  const dialled = dialledUrl(url, port, ['rtmps:', 'rtsps:'].includes(url.protocol))
  return dial(dialled, at.how(port, 'tcp'), at.signal, at.reached)
}

async function connectRtmp({ ctx }: App, { url: text, key }: OpenTarget, at: Reaching): Promise<Connected> {
  const url = new URL(text)
  const socket = await dialTcp(url, at)
  return {
    begin: (events) => new RtmpSender({ ...ctx, ...events, socket, ...addressOf(url), key }),
    close: () => void socket.destroy(),
  }
}

async function connectSrt({ ctx }: App, { key }: OpenTarget, at: Reaching): Promise<Connected> {
  const url = new URL(key)
  const parameters = readSrtParameters(url)
  if (!parameters.ok) throw new Error(`the address of a stored target ${parameters.error}`)
  const runs = await runAddon()
  at.leaving.hangUp(key)
  const socket = await dialUdp(url, { ...at.how(targetPort(url), 'udp'), random: ctx.random }, at.signal, at.reached)
  return {
    begin(events) {
      const call = new SrtTarget({ ...ctx, ...events, ...parameters.value, socket, runs })
      at.signal.addEventListener('abort', () => at.leaving.add(key, call, socket), { once: true })
      return call
    },
    close: () => void socket.close(),
  }
}

async function connectRtsp({ ctx }: App, { key }: OpenTarget, at: Reaching): Promise<Connected> {
  const url = new URL(key)
  const socket = await dialTcp(url, at)
  return {
    begin: (events) => new RtspSender({ ...ctx, ...events, socket, url }),
    close: () => void socket.destroy(),
  }
}

interface Feeding {
  readonly media: FeedMedia
  readonly target: OpenTarget
  readonly way: Way
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly failed: (problem: string) => void
}

/**
 * Subscribes a sender to media that fits the video of the feed and what its target takes, until the signal. Video that the target
 * does not take ends it before an encoder begins.
 */
function feedSender(sender: Sender, { media, target, way, clock, signal, failed }: Feeding): void {
  const out = new Continuation(way.addsSilence ? new WithSilence(sender, clock) : sender)
  let fit: Fit | null = null
  let leave = (): void => undefined
  const change = (next: Fit): void => {
    leave()
    if (fit !== null) out.change()
    fit = next
    leave = media.subscribe(next, out, failed)
    // The media may come at once, and end the attempt.
    if (signal.aborted) leave()
  }
  const watch: FrameSink = {
    tracks(tracks) {
      const video = tracks.find(({ kind }) => kind === 'video')
      if (video !== undefined && !target.transcode && !sender.takes(video)) return sender.tracks([video])
      const next = target.transcode ? way.encoded : way.fitOf(video)
      if (next !== fit) change(next)
    },
    frame: () => undefined,
    end: () => undefined,
  }
  const unwatch = media.source.subscribe(watch)
  const over = (): void => {
    unwatch()
    leave()
  }
  if (signal.aborted) over()
  else signal.addEventListener('abort', over, { once: true })
}

const addressOf = (url: URL): { app: string; url: string } => ({
  app: url.pathname.replaceAll(/^\/+|(?<!\/)\/+$/g, '') + url.search,
  url: url.href.replace(/(?<!\/)\/+$/, ''),
})
