import { ok } from '../base/result.ts'
import type { Context } from '../commands/context.ts'
import type { Config } from '../config/schema.ts'
import { examination, type Finding } from '../core/examination.ts'
import { type Call, command } from './command.ts'
import { examine, examineMachine } from './examine.ts'
import { textFlag } from './flag.ts'
import { withProgram } from './host.ts'
import { table } from './print.ts'
import { loadSources, quietLogger } from './session.ts'

const FLAGS = {
  'time-server': textFlag('HOST', 'An NTP server to compare the clock with, as HOST or HOST:PORT.'),
}

/** Checks everything that could keep Sluice from running well, and suggests a remedy. */
export const doctorCommand = command({
  path: ['doctor'],
  summary: 'Check the installation and suggest remedies',
  detail:
    'The exit status is 1 if a line says FAIL. You can run it beside a server. Like any start it migrates the tables ' +
    'of an older version; it changes nothing else. To find the public address it asks the stun: servers of ' +
    '`webrtc.iceServers`. It asks a running server for its health through `server.publicUrl`, and how a proxy there passes ' +
    'addresses on. Each check ends within seconds.',
  flags: FLAGS,
  examples: ['sluice doctor', 'sluice doctor --config /etc/sluice/config.yaml --time-server pool.ntp.org --json'],
  run: async (call) => {
    const read = loadSources(call)
    const machine = examineMachine(read)
    const answer = examination(read.ok ? [...machine, ...(await examineFrom(call, read.value))] : machine)
    const rows = answer.checks.map(({ outcome, check, detail }) => [outcome, check, withProgram(detail, call.host)])
    return ok({ json: answer, text: table(['', 'check', 'detail'], rows), exitCode: answer.ok ? 0 : 1 })
  },
})

/** Opens the store as a server would, which runs its migrations. */
function examineFrom(call: Call<typeof FLAGS>, config: Config): Promise<Finding[]> {
  const { host, flags } = call
  const log = quietLogger(call)
  return examine(config, {
    withStore: async <T>(check: (ctx: Context) => Promise<T>) => {
      const app = await host.openApp({ config, log })
      try {
        return await check(app.ctx)
      } finally {
        await app.close()
      }
    },
    tryEncoder: (name) => host.tryVideoEncoder({ config, name, log }),
    addressesOf: (name) => host.addressesOf(name),
    askHealth: (url) => host.askHealth(config, url),
    timeServer: flags['time-server'],
    isServer: false,
  })
}
