// Rotates the sealing key: `node keyRotator.ts <data directory> <store>`. Prints the number of values after each transaction.
import { writeSync } from 'node:fs'
import { rotateSealingKey } from '../../src/app/keyRotation.ts'
import { createLogger } from '../../src/base/log.ts'
import { loadConfig } from '../../src/config/load.ts'

const [dir = '', url = ''] = process.argv.slice(2)
const config = loadConfig({ env: {}, flags: { data: { dir }, storage: { url } } })
if (!config.ok) throw new Error('the configuration is wrong')
const log = createLogger({ level: 'error', format: 'json' })
const done = await rotateSealingKey({
  config: config.value,
  log,
  progress: (values) => void writeSync(1, `${values}\n`),
})
writeSync(1, `${JSON.stringify(done)}\n`)
