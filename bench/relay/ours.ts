import { createLogger } from '../../src/base/log.ts'
import { createRelayEngine } from '../../src/media/relay/processes/engine.ts'
import { answerParent, isServing, startChild } from './child.ts'
import { type Contender, ownAddress } from './contender.ts'

/** How many relay processes there are, and how many viewers each gets before the next one. Left out: one, which gets all. */
interface Spread {
  readonly processes: number
  readonly viewersEach: number
}

/** The embedded engine, which forwards packets in JavaScript or in C. Its relay processes and the main process count. */
export const startOurs = (
  backEnd: 'js' | 'native',
  { processes, viewersEach }: Spread = { processes: 1, viewersEach: 1 },
): Promise<Contender> => {
  const args = [backEnd, `${processes}`, `${viewersEach}`]
  return startChild(`Sluice, ${backEnd}`, new URL(import.meta.url).pathname, args)
}

/** Longer than a process takes to start: each viewer goes where the spread says. */
const LINK_WAIT_MS = 20_000

async function serve(backEnd: string, { processes, viewersEach }: Spread): Promise<void> {
  const settings = {
    host: ownAddress(),
    publicAddresses: [],
    maxBitrate: 4_000_000,
    maxSessions: 4000,
    publisherSilentMs: 15_000,
  }
  const engine = createRelayEngine({
    log: createLogger({ level: 'warn', format: 'pretty' }),
    now: () => performance.timeOrigin + performance.now(),
    config: { ...settings, udpPort: 0, processes, native: backEnd === 'native' },
    maxViewers: viewersEach,
    linkWaitMs: LINK_WAIT_MS,
  })
  await engine.start()
  answerParent(
    async ({ id, kind, offer }) => {
      const session = { room: 'bench', sourceId: null, sessionId: `session-${id}`, offer }
      const answer = kind === 'publish' ? await engine.publish({ ...session, codec: null }) : await engine.view(session)
      if (!answer.ok) throw new Error(answer.problem)
      return answer.answer
    },
    () => engine.stop(),
  )
}

if (isServing(import.meta.url)) {
  const [, , , backEnd = 'js', processes, viewersEach] = process.argv
  await serve(backEnd, { processes: Number(processes), viewersEach: Number(viewersEach) })
}
