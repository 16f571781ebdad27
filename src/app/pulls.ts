import type { App } from './app.ts'
import { followPulls, releasePulls, writePullState } from '../commands/pulls/claimPulls.ts'
import { openPullUrl } from '../commands/pulls/pulls.ts'
import { openTokenValue } from '../commands/tokens/tokenValue.ts'
import { repeat } from '../base/repeat.ts'
import { NO_PARAMETERS } from '../core/sessions/publishing.ts'
import { answerPublisher, type IngestParts } from '../edge/ingest/broadcast.ts'
import { Publication } from '../media/publication.ts'
import type { PublishAnswer, PublisherConnection } from '../media/publishing.ts'
import type { DialledSource, DialSource, PulledSource, PullProblem } from '../media/pulling.ts'
import { type PullAttempt, type PullEvent, Pulls } from '../services/pulls.ts'
import type { StoredPull } from '../store/store.ts'

const TICK_MS = 1000

export interface PullParts {
  readonly ingest: IngestParts
  readonly dial: DialSource
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
  readonly #ingest: IngestParts
  readonly #dial: DialSource
  readonly #pull: StoredPull
  readonly #report: (event: PullEvent) => void
  readonly #stopping = new AbortController()
  #publication: Publication | null = null
  #source: PulledSource | null = null

  constructor(app: App, { ingest, dial }: PullParts, pull: StoredPull, report: (event: PullEvent) => void) {
    this.#app = app
    this.#ingest = ingest
    this.#dial = dial
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
    const dialled = await this.#dial(url, this.#stopping.signal)
    if (!dialled.ok) return this.#ended({ kind: 'lost', message: dialled.error })
    const answer = await this.#ask(dialled.value.peer, presented)
    if (this.#stopping.signal.aborted || !answer.ok) dialled.value.close()
    if (!answer.ok) return this.#ended(refusalOf(answer))
    this.#publication = new Publication(answer)
    // It was cut while the decision was made.
    if (this.#stopping.signal.aborted) return this.#publication.end('cut', 0)
    await this.#publish(dialled.value, answer)
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
    return answerPublisher(this.#ingest, 'pull', connection, destination)
  }

  async #publish(dialled: DialledSource, { sink }: Extract<PublishAnswer, { ok: true }>): Promise<void> {
    const { ctx } = this.#app
    const { id, streamName } = this.#pull
    let isAccepted = false
    const source = await dialled.open({
      name: `pull ${id}`,
      signal: this.#stopping.signal,
      sink: {
        tracks: (tracks) => {
          sink.tracks(tracks)
          if (!isAccepted) this.#report({ kind: 'accepted' })
          isAccepted = true
        },
        frame: (frame) => sink.frame(frame),
        end: () => undefined,
      },
      leftOut: (what) => ctx.sampled.publishers.info({ pull: id, streamName, problem: what }, 'a pull is mended'),
      ended: (problem) => this.#ended(problem),
    })
    if (this.#stopping.signal.aborted) return source.end()
    this.#source = source
    await source.start()
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

/** What the decision refuses is asked for again a few times; a limit may be free later. */
const refusalOf = ({ status, reason }: Extract<PublishAnswer, { ok: false }>): PullProblem => ({
  kind: reason === 'limit' || reason === 'unavailable' ? 'lost' : 'refused',
  message: `The publish token does not allow it: ${status}`,
})
