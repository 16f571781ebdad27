// Writes api/*.openapi.json from the schemas of the routes. Tests fail if they are stale.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApp } from '../src/app/app.ts'
import { buildHttp } from '../src/app/server.ts'
import { createLogger } from '../src/base/log.ts'
import { loadConfig } from '../src/config/load.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-openapi-'))
const config = loadConfig({ env: {}, flags: { data: { dir } } })
if (!config.ok) throw new Error(JSON.stringify(config.error))
const app = await openApp({ config: config.value, log: createLogger({ level: 'error', format: 'pretty' }) })
const http = await buildHttp(app)
const documents = {
  tokens: '/api/openapi.json',
  channels: '/v2/openapi.json',
  dashboard: '/dashboard/api/openapi.json',
}
for (const [name, path] of Object.entries(documents)) {
  const { body } = await http.inject(path)
  const text = `${JSON.stringify(JSON.parse(body), null, 2)}\n`
  writeFileSync(new URL(`../api/${name}.openapi.json`, import.meta.url), text)
}
await http.close()
await app.close()
rmSync(dir, { recursive: true })
