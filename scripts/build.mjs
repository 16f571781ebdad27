// Builds everything that a package needs and that the repository does without: dist/ out of src/, the web pages, the
// addons. Afterwards `npm pack` makes a whole package.
import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { at, compiler } from './compile.mjs'
import { buildDashboard } from './build-dashboard.mjs'
import { buildPlayer } from './build-player.mjs'
import { buildNative } from './native.mjs'

/** What build-sign.mjs and build-client.mjs write into dist/. */
const LIBRARIES = ['client', 'sign.js', 'sign.d.ts']

export async function build() {
  await Promise.all([buildDashboard(), buildPlayer(), import('./build-sign.mjs'), import('./build-client.mjs')])
  buildNative()
  buildProgram()
}

/** Writes dist/ anew, so that nothing stays of a source that is gone. */
function buildProgram() {
  const stale = readdirSync(at('dist')).filter((name) => !LIBRARIES.includes(name))
  for (const name of stale) rmSync(at(`dist/${name}`), { recursive: true })
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.dist.json'], {
    cwd: at('.'),
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error('dist/ could not be built: tsc says above why')
}

if (process.argv[1] === at('scripts/build.mjs')) await build()
