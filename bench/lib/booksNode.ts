// A node of `cluster-books.ts` with sessions, but without sockets and media: it does what its parent asks over IPC, and
// answers each request with the name of the request and its result.
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { sessionJobs } from '../../src/jobs/sessions.ts'
import { startJobs } from '../../src/jobs/timers.ts'
import { crowd } from '../../test/support/crowd.ts'
import { startTestNode } from '../../test/support/testNode.ts'

/** Video of 2.5 Mbit/s. */
const BYTES_A_SECOND = 312_500
const FLUSH_MS = 3000
/** Sessions in one transaction. */
const AT_ONCE = 1_000

const [, , url = ''] = process.argv
const at = await startTestNode({ url, renewed: true, leaseMs: 15_000, max: 200_000 })
const { ctx, node, accountId } = at
const { sessions } = ctx
let moving: ReturnType<typeof setInterval> | undefined
const rounds: number[] = []
let countedBytes = 0

startJobs(
  ctx,
  sessionJobs(ctx, node, { flushMs: FLUSH_MS, noViewersMs: () => 10_000 }).map((job) =>
    job.name === 'write bytes' ? { ...job, run: () => timed(() => job.run()) } : job,
  ),
)

async function timed(run: () => Promise<unknown>): Promise<void> {
  const sinceMs = performance.now()
  await run()
  rounds.push(performance.now() - sinceMs)
}

const requests: Record<string, (argument: never) => Promise<unknown>> = {
  async fill({ streamName, viewers }: { streamName: string; viewers: number }) {
    for (let left = viewers; left > 0; left -= AT_ONCE) await crowd(ctx, accountId, streamName, Math.min(left, AT_ONCE))
  },
  async move() {
    moving = setInterval(moveAll, 1000)
  },
  async freeze() {
    clearInterval(moving)
    return countedBytes
  },
  /** The lengths of the rounds since the last request, milliseconds. */
  async rounds() {
    return rounds.splice(0)
  },
  async leave({ streamName }: { streamName: string }) {
    const leaving = sessions.all().filter(({ session }) => session.streamName === streamName)
    await Promise.all(leaving.map(({ session }) => closeSession(ctx, session.id, 'left')))
    return sessions.leaving.size
  },
  async open() {
    return sessions.size
  },
  async flush() {
    await node.count()
  },
  /** Processor time of the main thread, milliseconds. */
  async processor() {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  },
  async knows({ streamName }: { streamName: string }) {
    return sessions.feeds.remote(accountId, streamName, null) !== undefined
  },
}

function moveAll(): void {
  for (const { session, bytes } of sessions.all()) {
    countBytes(ctx, session.id, { bytesIn: 0, bytesOut: bytes.bytesOut + BYTES_A_SECOND })
    countedBytes += BYTES_A_SECOND
  }
}

process.on('message', ({ what, argument }: { what: string; argument: never }) => {
  void requests[what]?.(argument).then(
    (result) => process.send?.({ what, result }),
    (error: unknown) => process.send?.({ what, error: String(error) }),
  )
})
process.on('disconnect', () => process.exit())
process.send?.({ what: 'started', result: sessions.node })
