import { execFileSync } from 'node:child_process'
import { createRelayEngine } from '../../src/media/relay/processes/engine.ts'
import { silentLog } from '../support/log.ts'
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
    const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], { encoding: 'utf8' })
    const [line = ''] = children.split('\n').filter((child) => child.includes('relay/processes/process.ts'))
    process.kill(Number.parseInt(line, 10), 'SIGKILL')
  },
})
