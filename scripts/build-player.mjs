// Builds build/player/ if it is older than its sources: the player at /player.js, the page at /watch, and the client
// library at /client.js. Plain JavaScript that runs on Node 20. Without the development packages there is no Vite: then Sluice serves
// what was built before, or says that it is missing.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { findNode } from '../bin/runtime.js'
import { at, changedAtMs } from './compile.mjs'

/** Built last. */
const BUILT = at('build/player/client.js')
const SOURCES = ['web/player', 'web/client', 'node_modules/hls.js/package.json']
const MISSING = `setup: the player is not built, because the development packages are missing.
       /player.js, /client.js and /watch answer 503, and everything else runs. To build it: npm ci && npm run build:player`

export function buildPlayer() {
  if (changedAtMs(BUILT) >= Math.max(...SOURCES.map((path) => changedAtMs(at(path))))) return
  const vite = at('node_modules/vite/bin/vite.js')
  if (existsSync(vite)) build(vite)
  else if (!existsSync(BUILT)) console.warn(MISSING)
}

function build(vite) {
  const isBuilt = ['web/player', 'web/client'].every((folder) => {
    const args = [vite, 'build', folder, '--logLevel', 'warn']
    return spawnSync(findNode() ?? process.execPath, args, { cwd: at('.'), stdio: 'inherit' }).status === 0
  })
  if (isBuilt) compress()
  else console.warn('setup: the player could not be built: npm run build:player')
}

/** Compressed once here, instead of with every request. */
function compress() {
  for (const path of ['client.js', 'player.js', 'player/hls.js', 'player/hls.light.js', 'player/watch.js']) {
    const file = at(`build/player/${path}`)
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }))
  }
}

if (process.argv[1] === at('scripts/build-player.mjs')) buildPlayer()
