// Makes dist/sign.js, what `import 'sluice/sign'` gives: Node strips no types from packages that are installed. Runs after
// each install; without the development packages there is no compiler, and nobody there imports it.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const compiler = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url))
if (existsSync(compiler)) {
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.sign.json'], {
    cwd: root,
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
}
