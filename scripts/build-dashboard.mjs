// Builds build/dashboard/ (web/dashboard/vite.config.ts) if it is older than its sources.
import { at } from './compile.mjs'
import { buildWeb, vite } from './build-web.mjs'

export const buildDashboard = () =>
  buildWeb({
    name: 'dashboard',
    built: 'build/dashboard/index.html',
    sources: ['web/dashboard', 'web/client', 'api', 'scripts/web-api.ts'],
    steps: [['scripts/web-api.ts'], vite('web/dashboard')],
    without: '/dashboard/ answers 503',
  })

if (process.argv[1] === at('scripts/build-dashboard.mjs')) await buildDashboard()
