// Builds build/player/ if it is older than its sources: the player at /player.js, the page at /watch, and the client
// library at /client.js.
import { at } from './compile.mjs'
import { buildWeb, compress, vite } from './build-web.mjs'

const SCRIPTS = ['player.js', 'player/watch.js', 'client.js']

export const buildPlayer = () =>
  buildWeb({
    name: 'player',
    // Built last.
    built: 'build/player/client.js.br',
    sources: ['web/player', 'web/client', 'scripts/build-player.mjs'],
    steps: [vite('web/player'), vite('web/client')],
    without: '/player.js, /client.js and /watch answer 503',
    finish: () => compress('build/player', SCRIPTS),
  })

if (process.argv[1] === at('scripts/build-player.mjs')) await buildPlayer()
