// Starts a server once with a temporary data directory, to fill Node's compile cache for all later starts
// (bin/runtime.js says where it is). Without the cache the first start takes twice as long, and its server holds the
// compiler in memory, 15 MB, for its whole life. Plain JavaScript that runs on Node 20. A failure here is harmless: the
// first start compiles then.
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

/** Runs once for each state of the sources, also if nothing can be started. */
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

/** Whole seconds, because a file system may store no more. */
function changedAtSeconds() {
  const sources = readdirSync(SOURCES, { recursive: true }).map((name) => join(SOURCES, name))
  return Math.ceil(Math.max(...sources.map((path) => statSync(path).mtimeMs)) / 1000)
}

/** Runs until the server is ready; Node writes the cache when it exits normally. */
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
    SLUICE_SRT_PORT: '0',
    SLUICE_WEBRTC_PORT: '0',
  }
  // Runs in a directory without a config.yaml, so that it touches nothing of the user's.
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
