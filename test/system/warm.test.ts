import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const dir = mkdtempSync(join(tmpdir(), 'sluice-test-'))
afterAll(() => rmSync(dir, { recursive: true }))

async function warm(cache: string): Promise<string> {
  // The run must ignore this setting, with which no server could start.
  const env = { ...process.env, SLUICE_STORAGE_URL: 'postgres://127.0.0.1:1/nobody', TMPDIR: dir }
  const child = spawn(process.execPath, [at('scripts/warm.mjs'), cache], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let problems = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (problems += text))
  expect(await once(child, 'close')).toEqual([0, null])
  return problems
}

/** From the start to the end of a server, as `npm start` runs it. */
async function serveOnce(cache: string): Promise<void> {
  const args = [at('bin/sluice.js'), 'serve', '--data', join(dir, 'data'), '--host', '127.0.0.1', '--port', '0']
  const ours = Object.entries(process.env).filter(([name]) => !name.startsWith('SLUICE_'))
  const env = { ...Object.fromEntries(ours), NODE_COMPILE_CACHE: cache, SLUICE_RTMP_PORT: '0', SLUICE_SRT_PORT: '0' }
  const server = spawn(process.execPath, args, { cwd: dir, env, stdio: ['ignore', 'pipe', 'inherit'] })
  createInterface({ input: server.stdout }).on('line', (line) => {
    if (line.includes('"message":"ready"')) server.kill('SIGTERM')
  })
  expect(await once(server, 'close')).toEqual([0, null])
}

it('after the set-up the first start has nothing left to compile, and the set-up leaves no other files', async () => {
  const cache = join(dir, 'cache')
  expect(await warm(cache)).toBe('')
  expect(readdirSync(dir)).toEqual(['cache'])
  // One folder for each set of Node's options: this is the server's, and bin/sluice.js will have another.
  const ofServer = join(cache, String(readdirSync(cache)[0]))
  const compiled = readdirSync(ofServer)
  expect(compiled.length).toBeGreaterThan(100)
  await serveOnce(cache)
  expect(readdirSync(ofServer).sort()).toEqual(compiled.sort())
})

it('a filled cache stays until a source changes, and the set-up continues if it cannot write', async () => {
  const there = mkdtempSync(join(dir, 'there-'))
  expect(await warm(there)).toBe('')
  expect(readdirSync(there)).toEqual([])
  utimesSync(there, 0, 0)
  expect(await warm(there)).toBe('')
  expect(readdirSync(there)).toHaveLength(1)
  const file = join(dir, 'file')
  writeFileSync(file, '')
  expect(await warm(join(file, 'cache'))).toMatch(/nothing is compiled ahead/)
  expect(existsSync(join(file, 'cache'))).toBe(false)
})
