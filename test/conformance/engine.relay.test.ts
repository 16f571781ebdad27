import { createRelayEngine } from '../../src/media/relay/processes/engine.ts'
import { silentLog } from '../support/log.ts'
import { processIdsOf } from '../support/relayProcesses.ts'
import { engineConformance } from './engine.ts'

const config = {
  host: '',
  udpPort: 0,
  processes: 1,
  publicAddresses: [],
  maxBitrate: 2_500_000,
  maxSessions: 1000,
  publisherSilentMs: 15_000,
}

engineConformance('the relay', {
  create: () => createRelayEngine({ log: silentLog, now: () => performance.now(), config }),
  kill: () => {
    const [pid = 0] = processIdsOf(process.pid)
    process.kill(pid, 'SIGKILL')
  },
})
