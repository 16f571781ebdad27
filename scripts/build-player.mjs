// Builds build/player/ if it is older than its sources: the player at /player.js, the page at /watch, and the client
// library at /client.js.
import { readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { at } from './compile.mjs'
import { buildWeb, vite } from './build-web.mjs'

export const buildPlayer = () =>
  buildWeb({
    name: 'player',
    // Built last.
    built: 'build/player/client.js',
    sources: ['web/player', 'web/client', 'node_modules/hls.js/package.json'],
    steps: [vite('web/player'), vite('web/client')],
    without: '/player.js, /client.js and /watch answer 503',
    finish: compress,
  })

/** Compressed once here, instead of with every request. */
function compress() {
  for (const path of ['client.js', 'player.js', 'player/hls.js', 'player/hls.light.js', 'player/watch.js']) {
    const file = at(`build/player/${path}`)
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }))
  }
}

if (process.argv[1] === at('scripts/build-player.mjs')) await buildPlayer()
