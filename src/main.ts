import { openApp, startServing, type App } from './app.ts'
import { processWorld } from './cli/process.ts'
import { runCli } from './cli/run.ts'
import { loadConfig } from './config/load.ts'
import { VERSION } from './base/version.ts'

process.exitCode = await runCli(process.argv.slice(2), {
  ...processWorld(),
  version: VERSION,
  loadConfig,
  openApp,
  // What `openApp` above opened comes back here.
  startServing: (app) => startServing(app as App),
})
