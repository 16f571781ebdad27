// Builds build/dashboard/ (web/dashboard/vite.config.ts) if it is older than its sources.
import { readdirSync } from 'node:fs'
import { at } from './compile.mjs'
import { buildWeb, compress, vite } from './build-web.mjs'

const FOLDER = 'build/dashboard'

export const buildDashboard = () =>
  buildWeb({
    name: 'dashboard',
    built: `${FOLDER}/index.html`,
    sources: ['web/dashboard', 'web/client', 'api', 'scripts/web-api.ts'],
    steps: [['scripts/web-api.ts'], vite('web/dashboard')],
    without: '/dashboard/ answers 503',
    finish: () =>
      compress(
        FOLDER,
        readdirSync(at(FOLDER), { recursive: true }).filter((path) => /\.(js|css)$/.test(path)),
      ),
  })

if (process.argv[1] === at('scripts/build-dashboard.mjs')) await buildDashboard()
