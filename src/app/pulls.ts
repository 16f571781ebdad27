import type { App } from './app.ts'
import { inOrder } from './inOrder.ts'
import { followPulls, releasePulls, writePullState } from '../commands/pulls/claimPulls.ts'
import { openPullUrl } from '../commands/pulls/pulls.ts'
import { openTokenValue } from '../commands/tokens/tokenValue.ts'
import { repeat } from '../base/repeat.ts'
import { err, ok } from '../base/result.ts'
import { say } from '../core/notices.ts'
import type { PullState } from '../core/pulls/types.ts'
import type { AttemptEvent } from '../core/restream/driver.ts'
import { NO_PARAMETERS } from '../core/sessions/publishing.ts'
import { answerPublisher, cutNotice, type IngestParts } from '../edge/ingest/broadcast.ts'
import { Publication } from '../media/publication.ts'
import type { PublishAnswer, PublisherConnection } from '../media/publishing.ts'
import type { DialSource, PullProblem } from '../media/pulling.ts'
import { SourceAttempt, type SourceReceiver } from '../media/sourceAttempt.ts'
import { Pulls } from '../services/pulls.ts'
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
  const records = inOrder(ctx, 'pull')
  const pulls = new Pulls({
    ...ctx,
    open: (pull, report) => openPull(app, parts, pull, report),
    changed(pull, state) {
      logPull(app, pull, state)
      const at = node
      records.write(() => writePullState(ctx, pull.id, at, state), { pull: pull.id })
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
    await records.written
    await releasePulls(ctx, node, idle)
  })
  const unwatch = ctx.sessions.demand.watch(() => void app.due.look())
  const ticking = repeat({ ...ctx, name: 'look after pulls', everyMs: TICK_MS }, async () => pulls.tick())
  return {
    async stop() {
      unfollow()
      unwatch()
      // A look waits for what is written.
      void records.stop()
      await Promise.all([claiming.stop(), ticking.stop()])
      const { ids } = pulls
      pulls.stopAll()
      // Viewers who wait are answered.
      ctx.sessions.demand.follow([])
      await records.stop()
      if (ids.length > 0) await releasePulls(ctx, node, ids)
    },
  }
}

function logPull({ ctx }: App, { id, streamName, tokenId }: StoredPull, { status, problem }: PullState): void {
  const facts = { pull: id, streamName, tokenId, status }
  ctx.log.info(problem === null ? facts : { ...facts, problem: problem.message }, 'a source that is pulled')
}

/** Takes the media of a source that the decision allows in the name of its token, and publishes it. */
function openPull(
  { ctx }: App,
  { ingest, dial }: PullParts,
  pull: StoredPull,
  report: (event: AttemptEvent) => void,
): SourceAttempt {
  const { id, streamName } = pull
  let presented: string | null = null
  const told = new Set<string>()
  const attempt: SourceAttempt = new SourceAttempt({
    log: ctx.log,
    name: `pull ${id}`,
    accountId: pull.accountId,
    async dial(signal) {
      const token = await ctx.store.read.tokens.get(pull.tokenId)
      presented = token === undefined ? null : openTokenValue(ctx, token)
      return dial(new URL(openPullUrl(ctx, pull)), signal)
    },
    async admit(peer) {
      const connection: PublisherConnection = {
        peer,
        // Two publishers that replace each other would do so forever.
        cut: async (why, reason) =>
          attempt.cut(
            reason === 'replaced'
              ? { kind: 'unsuitable', ...cutNotice(reason) }
              : { kind: 'lost', ...(reason === undefined ? { message: why } : cutNotice(reason)) },
          ),
      }
      const destination = { kind: 'stream', streamName, presented, sourceId: null, parameters: NO_PARAMETERS } as const
      const answer = await answerPublisher(ingest, 'pull', connection, destination)
      return answer.ok ? ok(receiverOf(answer)) : err(refusalOf(answer))
    },
    leftOut(what) {
      if (told.has(what)) return
      told.add(what)
      ctx.log.info({ pull: id, streamName, problem: what }, 'a pull is mended')
    },
    report,
  })
  return attempt
}

function receiverOf(answer: Extract<PublishAnswer, { ok: true }>): SourceReceiver {
  const publication = new Publication(answer)
  return {
    sink: answer.sink,
    received: (bytes, link) => publication.reportBytes(bytes, link),
    ended: (why, bytes) => publication.end(why, bytes),
  }
}

/** What the decision refuses is asked for again a few times; a limit may be free later. */
const refusalOf = ({ status, reason, code = '' }: Extract<PublishAnswer, { ok: false }>): PullProblem => ({
  kind: reason === 'limit' || reason === 'unavailable' ? 'lost' : 'refused',
  ...say({ code: 'pull_not_allowed', values: { text: status, refusal: code } }),
})
