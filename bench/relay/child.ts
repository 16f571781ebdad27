import { fork } from 'node:child_process'
import { once } from 'node:events'
import { type Contender, cpuNs } from './contender.ts'

/** A request to a contender in a process of its own, and its answer. */
export interface Ask {
  readonly id: number
  readonly kind: 'publish' | 'view'
  readonly offer: string
}
type Answer = { readonly id: number; readonly sdp: string }

/** A contender that is one of our scripts: it gets `serve` and `args`, reports when it is ready, and answers offers. */
export async function startChild(name: string, script: string, args: readonly string[] = []): Promise<Contender> {
  const child = fork(script, ['serve', ...args])
  const waiting = new Map<number, (sdp: string) => void>()
  await once(child, 'message')
  child.on('message', ({ id, sdp }: Answer) => waiting.get(id)?.(sdp))
  const ask = (kind: Ask['kind'], offer: string): Promise<string> => {
    const id = waiting.size
    return new Promise((resolve) => {
      waiting.set(id, resolve)
      child.send({ id, kind, offer } satisfies Ask)
    })
  }
  return {
    name,
    publish: (offer) => ask('publish', offer),
    view: async (viewer) => viewer.accept(await ask('view', await viewer.offer())),
    cpuNs: () => cpuNs(child.pid ?? 0),
    stop: async () => {
      const gone = once(child, 'exit')
      child.disconnect()
      await gone
    },
  }
}

/** The child's side: answers requests until the parent ends. */
export function answerParent(answer: (ask: Ask) => Promise<string>, stop: () => Promise<void>): void {
  process.on(
    'message',
    (ask: Ask) => void answer(ask).then((sdp) => process.send?.({ id: ask.id, sdp } satisfies Answer)),
  )
  process.on('disconnect', () => void stop().then(() => process.exit()))
  process.send?.('ready')
}

/** Whether the script at `url` was started to serve. */
export const isServing = (url: string): boolean =>
  process.argv[2] === 'serve' && process.argv[1] === new URL(url).pathname
