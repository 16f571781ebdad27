// Writes api/tokens.openapi.json from the schemas of the routes. A test fails when it is stale.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApp } from '../src/app.ts'
import { openDoors } from '../src/serving.ts'
import { createLogger } from '../src/base/log.ts'
import { loadConfig } from '../src/config/load.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-openapi-'))
const config = loadConfig({ env: {}, flags: { data: { dir } } })
if (!config.ok) throw new Error(JSON.stringify(config.error))
const app = await openApp({ config: config.value, log: createLogger({ level: 'error', format: 'pretty' }) })
const http = await openDoors(app)
const text = `${JSON.stringify(http.swagger(), null, 2)}\n`
writeFileSync(new URL('../api/tokens.openapi.json', import.meta.url), text)
await http.close()
await app.close()
rmSync(dir, { recursive: true })
