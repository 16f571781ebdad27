import { createLogger } from '../../src/base/log.ts'
import { createRelayEngine } from '../../src/media/relay/processes/engine.ts'
import { answerParent, isServing, startChild } from './child.ts'
import { type Contender, ownAddress } from './contender.ts'

/** The embedded engine with one relay process, which forwards packets in JavaScript or in C. Both processes count. */
export const startOurs = (backEnd: 'js' | 'native'): Promise<Contender> =>
  startChild(`Sluice, ${backEnd}`, new URL(import.meta.url).pathname, [backEnd])

async function serve(backEnd: string): Promise<void> {
  const settings = {
    host: ownAddress(),
    publicAddresses: [],
    maxBitrate: 4_000_000,
    maxSessions: 1000,
    publisherSilentMs: 15_000,
  }
  const engine = createRelayEngine({
    log: createLogger({ level: 'warn', format: 'pretty' }),
    now: () => performance.timeOrigin + performance.now(),
    config: { ...settings, udpPort: 0, processes: 1, native: backEnd === 'native' },
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

if (isServing(import.meta.url)) await serve(process.argv[3] ?? 'js')
