// Builds build/dashboard/ (web/dashboard/vite.config.ts) if it is older than its sources. Plain JavaScript that runs on
// Node 20. Without the development packages there is no Vite: then Sluice serves what was built before, or says that it is
// missing.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { findNode } from '../bin/runtime.js'
import { at, changedAtMs } from './compile.mjs'

const BUILT = at('build/dashboard/index.html')
const SOURCES = ['web/dashboard', 'web/client', 'api', 'scripts/web-api.ts']
const MISSING = `setup: the dashboard is not built, because the development packages are missing.
       /dashboard/ answers 503, and everything else runs. To build it: npm ci && npm run build:dashboard`

export function buildDashboard() {
  if (changedAtMs(BUILT) >= Math.max(...SOURCES.map((path) => changedAtMs(at(path))))) return
  const vite = at('node_modules/vite/bin/vite.js')
  if (existsSync(vite)) build(vite)
  else if (!existsSync(BUILT)) console.warn(MISSING)
}

function build(vite) {
  const node = findNode() ?? process.execPath
  const run = (...args) => spawnSync(node, args, { cwd: at('.'), stdio: 'inherit' }).status === 0
  const isBuilt = run('scripts/web-api.ts') && run(vite, 'build', 'web/dashboard', '--logLevel', 'warn')
  if (!isBuilt) console.warn('setup: the dashboard could not be built: npm run build:dashboard')
}

if (process.argv[1] === at('scripts/build-dashboard.mjs')) buildDashboard()
