// Builds what `npm start` serves and runs with Vite. Plain JavaScript that runs on Node 20. Without the development
// packages there is no Vite: then Sluice serves what was built before, or says that it is missing.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { brotliCompressSync, constants } from 'node:zlib'
import { findNode, isBuiltOf } from '../bin/runtime.js'
import { at } from './compile.mjs'

const VITE = 'node_modules/vite/bin/vite.js'

/** The packages, and how all of web/ is built. */
const INGREDIENTS = ['package-lock.json', 'scripts/build-web.mjs']

/** Builds a folder of web/ by `build` if what was built does not have what its sources are now. */
export async function buildWeb({ sources, ...how }) {
  if (!isBuiltOf(at(how.built), [...sources, ...INGREDIENTS].map(at))) await build(how)
}

/**
 * `built`: the file that is written last. `steps`: the arguments of Node for each program, one after another.
 * `without`: what does not work while it is missing. `finish` runs after a whole build.
 */
export async function build({ name, built, steps, without, finish = () => undefined }) {
  const command = `npm run build:${name}`
  if (existsSync(at(VITE))) {
    if (await runAll(steps)) finish()
    else console.warn(`setup: the ${name} could not be built: ${command}`)
  } else if (!existsSync(at(built))) {
    console.warn(`setup: the ${name} is not built, because the development packages are missing.
       ${without}, and everything else runs. To build it: npm ci && ${command}`)
  }
}

export const vite = (folder) => [VITE, 'build', folder, '--logLevel', 'warn']

/**
 * Replaces files below `folder` by their Brotli form, which Sluice stores (src/edge/http/storedText.ts). `quality`: the
 * best needs twenty times as long as 8, for a tenth less.
 */
export function compress(folder, paths, quality = constants.BROTLI_MAX_QUALITY) {
  for (const path of paths) {
    const file = at(`${folder}/${path}`)
    const params = { [constants.BROTLI_PARAM_QUALITY]: quality }
    writeFileSync(`${file}.br`, brotliCompressSync(readFileSync(file), { params }))
    rmSync(file)
  }
}

async function runAll(steps) {
  for (const step of steps) if (!(await run(step))) return false
  return true
}

async function run(args) {
  // Tests build what is stale, in an environment of their own: with it JSX names its files and lines, for a tenth more script.
  const env = { ...process.env, NODE_ENV: 'production' }
  const child = spawn(findNode() ?? process.execPath, args, { cwd: at('.'), stdio: 'inherit', env })
  const [status] = await once(child, 'exit')
  return status === 0
}
