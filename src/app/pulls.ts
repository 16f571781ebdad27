import type { Socket as UdpSocket } from 'node:dgram'
import type { Socket } from 'node:net'
import type { App } from './app.ts'
import { dialledUrl, dialProblem, mediaDialling, type OwnPorts } from './mediaDialling.ts'
import { openWhepSource } from './whepSource.ts'
import { followPulls, releasePulls, writePullState } from '../commands/pulls/claimPulls.ts'
import { openPullUrl } from '../commands/pulls/pulls.ts'
import { openTokenValue } from '../commands/tokens/tokenValue.ts'
import { repeat } from '../base/repeat.ts'
import { pullScheme } from '../core/pulls/source.ts'
import { readSrtParameters } from '../core/srtAddress.ts'
import { NO_PARAMETERS } from '../core/sessions/publishing.ts'
import { answerPublisher, type IngestParts } from '../edge/ingest/broadcast.ts'
import type { Ffmpeg } from '../media/ffmpeg/ffmpeg.ts'
import type { Frame, TrackInfo } from '../media/frame.ts'
import { Publication } from '../media/publication.ts'
import type { PublishAnswer, PublisherConnection } from '../media/publishing.ts'
import type { PulledSource, PulledSourceOptions, PullProblem } from '../media/pulling.ts'
import { RtmpPlayer } from '../media/rtmp/player.ts'
import { RtspPull } from '../media/rtsp/pull.ts'
import { SrtPull, type SrtPullOptions } from '../media/srt/pull.ts'
import { dial } from '../net/dial.ts'
import { dialUdp } from '../net/dialUdp.ts'
import type { Stage } from '../net/outcome.ts'
import { type PullAttempt, type PullEvent, Pulls } from '../services/pulls.ts'
import type { StoredPull } from '../store/store.ts'

const TICK_MS = 1000

export interface PullParts {
  readonly ingest: IngestParts
  readonly ffmpeg: Ffmpeg
  readonly ownPorts: OwnPorts
}

/** Dials the sources that this node claims, until it is stopped. */
export function startPulls(app: App, parts: PullParts): { stop(): Promise<void> } {
  const { ctx } = app
  let node = ''
  // One after the other: the last state must be the last one written.
  let written: Promise<void> = Promise.resolve()
  const pulls = new Pulls({
    ...ctx,
    open: (pull, report) => new Attempt(app, parts, pull, report),
    changed(pull, state) {
      logPull(app, pull, state)
      const at = node
      written = written
        .then(() => writePullState(ctx, pull.id, at, state))
        .catch((error: unknown) =>
          ctx.log.warn({ err: error, pull: pull.id }, 'the state of a pull could not be written'),
        )
    },
  })
  const unfollow = ctx.cache.onChange((change) => {
    if (change.kind === 'token') pulls.retry(change.id)
    else if (change.kind === 'all' || change.kind === 'account') pulls.retry('all')
  })
  const claiming = app.due.on('pulls', async () => {
    // A node that was given up has another id, and claims again.
    if (node !== ctx.sessions.node) pulls.stopAll()
    node = ctx.sessions.node
    const claimed = await followPulls(ctx)
    pulls.follow(claimed)
    const idle = claimed.map(({ id }) => id).filter((id) => !pulls.has(id))
    if (idle.length === 0) return
    // Before the next look, which may claim them again.
    await written
    await releasePulls(ctx, node, idle)
  })
  const unwatch = ctx.sessions.demand.watch(() => void app.due.look())
  const ticking = repeat({ ...ctx, name: 'look after pulls', everyMs: TICK_MS }, async () => pulls.tick())
  return {
    async stop() {
      unfollow()
      unwatch()
      await Promise.all([claiming.stop(), ticking.stop()])
      const { ids } = pulls
      pulls.stopAll()
      // Viewers who wait are answered.
      ctx.sessions.demand.follow([])
      await written
      if (ids.length > 0) await releasePulls(ctx, node, ids)
    },
  }
}

function logPull(
  { ctx }: App,
  { id, streamName, tokenId }: StoredPull,
  { status, message }: { status: string; message: string | null },
): void {
  const facts = { pull: id, streamName, tokenId, status }
  ctx.log.info(message === null ? facts : { ...facts, problem: message }, 'a source that is pulled')
}

/** Dials a source, has the decision made in the name of its token, and publishes what comes. */
class Attempt implements PullAttempt {
  readonly #app: App
  readonly #parts: PullParts
  readonly #pull: StoredPull
  readonly #report: (event: PullEvent) => void
  readonly #stopping = new AbortController()
  #publication: Publication | null = null
  #source: PulledSource | null = null

  constructor(app: App, parts: PullParts, pull: StoredPull, report: (event: PullEvent) => void) {
    this.#app = app
    this.#parts = parts
    this.#pull = pull
    this.#report = report
    this.#run().catch((error: unknown) => {
      app.ctx.log.error({ err: error, pull: pull.id }, 'a pull failed')
      this.#ended({ kind: 'lost', message: 'Sluice failed; its log says more' })
    })
  }

  tick(): void {
    this.#source?.tick()
    if (this.#source) this.#publication?.reportBytes(this.#source.bytesIn, this.#source.link)
  }

  end(): void {
    this.#close('stopped')
  }

  async #run(): Promise<void> {
    const { ctx } = this.#app
    const url = new URL(openPullUrl(ctx, this.#pull))
    const token = await ctx.store.read.tokens.get(this.#pull.tokenId)
    const presented = token === undefined ? null : openTokenValue(ctx, token)
    const dialled = await this.#dial(url)
    if (dialled === null) return
    const answer = await this.#ask(dialled.peer, presented)
    if (this.#stopping.signal.aborted || !answer.ok) dialled.close()
    if (!answer.ok) return this.#ended(refusalOf(answer))
    this.#publication = new Publication(answer)
    // It was cut while the decision was made.
    if (this.#stopping.signal.aborted) return this.#publication.end('cut', 0)
    await this.#publish(dialled, url, answer)
  }

  /** Null: there is no connection, and that was reported. */
  async #dial(url: URL): Promise<Dialled | null> {
    const { port, isEncrypted, carrier } = pullScheme(url)
    const how = mediaDialling(this.#app, this.#parts.ownPorts)(port, carrier)
    let stage: Stage = 'resolve'
    const reached = (next: Stage): void => void (stage = next)
    const { signal } = this.#stopping
    const { random } = this.#app.ctx
    try {
      return carrier === 'udp'
        ? overUdp(await dialUdp(url, { ...how, random }, signal, reached))
        : overTcp(await dial(dialledUrl(url, port, isEncrypted), how, signal, reached))
    } catch (error) {
      this.#ended({ kind: 'lost', message: dialProblem(stage, error, 'source') })
      return null
    }
  }

  #ask(peer: string, presented: string | null): Promise<PublishAnswer> {
    const { streamName } = this.#pull
    const connection: PublisherConnection = {
      peer,
      cut: async (why, reason) => {
        this.#close('cut')
        // Two publishers that replace each other would do so forever.
        this.#report({ kind: reason === 'replaced' ? 'unsuitable' : 'lost', message: why })
      },
    }
    const destination = { kind: 'stream', streamName, presented, sourceId: null, parameters: NO_PARAMETERS } as const
    return answerPublisher(this.#parts.ingest, 'pull', connection, destination)
  }

  async #publish(dialled: Dialled, url: URL, { sink }: Extract<PublishAnswer, { ok: true }>): Promise<void> {
    const { ctx } = this.#app
    const { id, streamName } = this.#pull
    let isAccepted = false
    const options = {
      ...ctx,
      url,
      sink: {
        tracks: (tracks: readonly TrackInfo[]) => {
          sink.tracks(tracks)
          if (!isAccepted) this.#report({ kind: 'accepted' })
          isAccepted = true
        },
        frame: (frame: Frame) => sink.frame(frame),
        end: () => undefined,
      },
      leftOut: (what: string) =>
        ctx.sampled.publishers.info({ pull: id, streamName, problem: what }, 'a pull is mended'),
      ended: (problem: PullProblem) => this.#ended(problem),
    }
    const source = await this.#sourceOf(dialled, options)
    if (this.#stopping.signal.aborted) return source.end()
    this.#source = source
    await source.start()
  }

  async #sourceOf(dialled: Dialled, options: SourceOptions): Promise<PulledSource> {
    const { rtmp, srt } = this.#app.config
    const { maxFrameBytes } = srt
    if (dialled.carrier === 'udp') {
      const parameters = readSrtParameters(options.url)
      if (!parameters.ok) throw new Error(`the address of a stored pull ${parameters.error}`)
      return new SrtPull({ ...options, ...parameters.value, socket: dialled.socket, maxFrameBytes })
    }
    const { socket } = dialled
    const { ffmpeg } = this.#parts
    const open = {
      rtsp: () => new RtspPull({ ...options, socket, maxFrameBytes, ffmpeg, name: `pull ${this.#pull.id}` }),
      rtmp: () => new RtmpPlayer({ ...options, socket, maxFrameBytes: rtmp.maxMessageBytes }),
      whep: () => this.#whepSource(socket, options),
      srt: () => Promise.reject(new Error('SRT is dialled over UDP')),
    }
    return open[pullScheme(options.url).way]()
  }

  #whepSource(socket: Socket, options: SourceOptions): Promise<PulledSource> {
    const how = mediaDialling(this.#app, this.#parts.ownPorts)
    return openWhepSource(this.#app, how, socket, options, this.#stopping.signal)
  }

  #ended(problem: PullProblem): void {
    if (this.#stopping.signal.aborted) return
    this.#close(problem.kind === 'unsuitable' ? 'invalid' : 'lost')
    this.#report(problem.kind === 'refused' ? { ...problem, isInUse: false } : { ...problem, kind: problem.kind })
  }

  #close(why: 'cut' | 'invalid' | 'lost' | 'stopped'): void {
    this.#stopping.abort()
    this.#source?.end()
    this.#publication?.end(why === 'stopped' ? 'left' : why, this.#source?.bytesIn ?? 0)
  }
}

type SourceOptions = Omit<PulledSourceOptions, 'socket' | 'maxFrameBytes'> & Pick<SrtPullOptions, 'random' | 'log'>

/** A connection to a source, of which nothing was read yet. */
type Dialled = { readonly peer: string; close(): void } & (
  | { readonly carrier: 'tcp'; readonly socket: Socket }
  | { readonly carrier: 'udp'; readonly socket: UdpSocket }
)

const overTcp = (socket: Socket): Dialled => ({
  carrier: 'tcp',
  socket,
  peer: socket.remoteAddress ?? '',
  close: () => void socket.destroy(),
})

const overUdp = (socket: UdpSocket): Dialled => ({
  carrier: 'udp',
  socket,
  peer: socket.remoteAddress().address,
  close: () => void socket.close(),
})

/** What the decision refuses is asked for again a few times; a limit may be free later. */
const refusalOf = ({ status, reason }: Extract<PublishAnswer, { ok: false }>): PullProblem => ({
  kind: reason === 'limit' || reason === 'unavailable' ? 'lost' : 'refused',
  message: `The publish token does not allow it: ${status}`,
})
