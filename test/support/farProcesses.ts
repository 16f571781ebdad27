import type { RelayEngineOptions } from '../../src/media/relay/processes/engine.ts'
import type { RelayProcess } from '../../src/media/relay/processes/processPool.ts'
import { Worker } from '../../src/media/relay/processes/worker.ts'
import { type LossyLink, lossyLink } from './lossyUdp.ts'

/** Relay processes whose links go through a network: `delayMs` each way, and it loses the share that the test says. */
export function farProcesses(delayMs: number) {
  /** By the port of the process behind it. */
  const networks = new Map<number, LossyLink>()
  const portBefore = (port: number): number => networks.get(port)?.port ?? port
  const startProcess: RelayEngineOptions['startProcess'] = (options): RelayProcess => {
    const worker = new Worker(options)
    const ready = worker.ready.then(async (isReady) => {
      const { linkPort } = worker
      if (linkPort === null) return isReady
      const network = await lossyLink(linkPort, linkPort)
      network.delay(delayMs)
      networks.set(linkPort, network)
      return isReady
    })
    return {
      ready,
      get linkPort() {
        return worker.linkPort === null ? null : portBefore(worker.linkPort)
      },
      call: (method, takes) => worker.call(method, takes),
      stop: () => worker.stop(),
      post: (sent, done) => {
        const isOffer = sent.kind === 'link' && sent.message.kind === 'open'
        worker.post(
          isOffer ? { ...sent, message: { ...sent.message, port: portBefore(sent.message.port) } } : sent,
          done,
        )
      },
    }
  }
  const all = (act: (network: LossyLink) => void) => [...networks.values()].forEach(act)
  return {
    startProcess,
    lose: (share: number) => all((network) => network.lose(share)),
    close: () => all((one) => one.close()),
  }
}
