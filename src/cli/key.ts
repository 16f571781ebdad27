import { err, ok } from '../base/result.ts'
import { previousKeyFile, sealingKeyFile } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import { failure } from '../core/errors.ts'
import { command } from './command.ts'
import { quietLogger, readConfig } from './session.ts'

const rotate = command({
  path: ['key', 'rotate'],
  summary: 'Seal every token value, webhook secret and stream key with a new key',
  detail: [
    'Stop the servers first: it refuses while one runs that does not know the new key. You may stop it at any moment and',
    'run it again; until it is done, every start knows both keys. The old key stays in sealing.key.previous, because',
    'backups from before need it. Tokens keep their values. If the key is in `secrets.sealingKey`, servers may go on',
    'running: the guide on production has the steps.',
  ].join('\n'),
  examples: ['sluice key rotate', 'sluice key rotate --data /var/lib/sluice --json'],
  run: async (call) => {
    const config = readConfig(call)
    if (!config.ok) return config
    const done = await call.host.rotateSealingKey({ config: config.value, log: quietLogger(call) })
    if (!done.ok) return err(failure('conflict', done.error))
    const { keyId, values } = done.value
    return ok({ json: { keyId, values }, text: `Sealed ${values} values with key ${keyId}.`, note: next(config.value) })
  },
})

const next = (config: Config): string =>
  config.secrets.sealingKey === ''
    ? `Back up ${sealingKeyFile(config)}, and copy it to the other nodes before they start. ${previousKeyFile(config)} is for backups from before.`
    : 'Remove secrets.previousSealingKey from every node. Keep that key for backups from before.'

export const keyCommands = [rotate]
