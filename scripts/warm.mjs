// Starts a server once, on a data directory that is thrown away, so that what Node compiles is kept for all later starts
// (bin/runtime.js says where). Without it the first start takes twice as long, and its server holds the compiler, 15 MB,
// for as long as it runs. Plain JavaScript that runs on Node 20. What goes wrong here is no harm: the first start compiles then.
//   node scripts/warm.mjs [DIRECTORY]
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { COMPILE_CACHE, FOLLOW_NPM, FOLLOW_PARENT, findNode, PROGRAM } from '../bin/runtime.js'

const SOURCES = fileURLToPath(new URL('../src', import.meta.url))
const LIMIT_MS = 30_000

/** Once for each state of the sources, also where nothing can be started. */
export async function fillCompileCache(directory = COMPILE_CACHE) {
  const changed = changedAtSeconds()
  if (existsSync(directory) && statSync(directory).mtimeMs >= changed * 1000) return
  let data
  try {
    mkdirSync(directory, { recursive: true })
    utimesSync(directory, changed, changed)
    data = mkdtempSync(join(tmpdir(), 'sluice-warm-'))
    await startOnce(directory, data)
  } catch (error) {
    console.warn(`setup: nothing is compiled ahead, so the first start takes longer: ${error.message}`)
  } finally {
    if (data !== undefined) rmSync(data, { recursive: true, force: true })
  }
}

/** Whole seconds, because a file system may not keep more. */
function changedAtSeconds() {
  const sources = readdirSync(SOURCES, { recursive: true }).map((name) => join(SOURCES, name))
  return Math.ceil(Math.max(...sources.map((path) => statSync(path).mtimeMs)) / 1000)
}

/** Until it says that it is ready; the cache is written when it ends by itself. */
function startOnce(directory, data) {
  const args = [
    ...FOLLOW_PARENT,
    ...FOLLOW_NPM,
    ...PROGRAM,
    'serve',
    '--data',
    data,
    '--host',
    '127.0.0.1',
    '--port',
    '0',
  ]
  const env = {
    ...withoutSettings(),
    NODE_COMPILE_CACHE: directory,
    SLUICE_RTMP_HOST: '127.0.0.1',
    SLUICE_RTMP_PORT: '0',
  }
  // In a directory without a config.yaml: nothing of the user's is touched.
  const server = spawn(findNode(), args, {
    cwd: data,
    env,
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    timeout: LIMIT_MS,
  })
  createInterface({ input: server.stdout }).on('line', (line) => {
    if (line.includes('"message":"ready"')) server.kill('SIGTERM')
  })
  return new Promise((resolve, reject) => {
    server.on('error', reject)
    server.on('exit', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`the server ended with ${signal ?? code}`)),
    )
  })
}

const withoutSettings = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SLUICE_')))

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await fillCompileCache(process.argv[2])
}
