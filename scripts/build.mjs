// Builds everything that a package needs and that the repository does without: dist/ out of src/, the web pages, the
// addons. Afterwards `npm pack` makes a whole package.
import { at } from './compile.mjs'
import { buildDashboard } from './build-dashboard.mjs'
import { buildDocs, compressDocsBest } from './build-docs.mjs'
import { buildPlayer } from './build-player.mjs'
import { buildProgram } from './build-program.mjs'
import { buildForeign, buildNative } from './native.mjs'

export async function build() {
  await Promise.all([
    buildDashboard(),
    buildPlayer(),
    buildDocs(),
    import('./build-sign.mjs'),
    import('./build-client.mjs'),
  ])
  compressDocsBest()
  buildNative()
  buildForeign()
  await buildProgram()
}

if (process.argv[1] === at('scripts/build.mjs')) await build()
