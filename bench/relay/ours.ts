import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createLogger } from '../../src/base/log.ts'
import type { Negotiated } from '../../src/media/engine.ts'
import { createRelayEngine } from '../../src/media/relay/engine.ts'
import { type Contender, family, ownAddress } from './contender.ts'

type Ask = { readonly kind: 'publish' | 'view'; readonly sessionId: string; readonly offer: string }

/** The embedded engine with one relay process, whose packets are forwarded in JavaScript or in C. Both processes count. */
export async function startOurs(backEnd: 'js' | 'native'): Promise<Contender> {
  const child = fork(new URL(import.meta.url).pathname, ['serve', backEnd])
  await once(child, 'message')
  let asked = 0
  const ask = async (kind: Ask['kind'], offer: string): Promise<string> => {
    child.send({ kind, sessionId: `session-${asked++}`, offer } satisfies Ask)
    const [answer] = (await once(child, 'message')) as [Negotiated]
    if (!answer.ok) throw new Error(answer.problem)
    return answer.answer
  }
  return {
    name: `Sluice, ${backEnd}`,
    publish: (offer) => ask('publish', offer),
    view: async (viewer) => viewer.accept(await ask('view', await viewer.offer())),
    pids: () => family(child.pid ?? 0),
    stop: async () => {
      const gone = once(child, 'exit')
      child.disconnect()
      await gone
    },
  }
}

async function serve(backEnd: string): Promise<void> {
  const settings = { host: ownAddress(), publicAddresses: [], maxBitrate: 4_000_000, maxSessions: 1000 }
  const engine = createRelayEngine({
    log: createLogger({ level: 'warn', format: 'pretty' }),
    now: () => performance.timeOrigin + performance.now(),
    config: { ...settings, udpPort: 0, processes: 1, native: backEnd === 'native' },
  })
  await engine.start()
  const place = { room: 'bench', sourceId: null }
  process.on('message', ({ kind, sessionId, offer }: Ask) => {
    const answered =
      kind === 'publish'
        ? engine.publish({ ...place, sessionId, offer, codec: null })
        : engine.view({ ...place, sessionId, offer })
    void answered.then((answer) => process.send?.(answer))
  })
  process.on('disconnect', () => void engine.stop().then(() => process.exit()))
  process.send?.('ready')
}

if (process.argv[2] === 'serve' && process.argv[1] === new URL(import.meta.url).pathname) {
  await serve(process.argv[3] ?? 'js')
}
