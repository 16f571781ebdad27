// Makes dist/sign.js, what `import 'sluice/sign'` gives: Node strips no types from packages that are installed. Runs after
// each install where scripts may run, and else before the first start or test; nothing happens when it is there and newer
// than its source. Without the development packages there is no compiler, and nobody there imports it.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const compiler = at('node_modules/typescript/bin/tsc')
const changedAtMs = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0)

if (existsSync(compiler) && changedAtMs(at('dist/sign.js')) < changedAtMs(at('src/sign.ts'))) {
  const build = [compiler, '-p', 'tsconfig.sign.json']
  const { status } = spawnSync(process.execPath, build, { cwd: at('.'), stdio: 'inherit' })
  process.exitCode = status ?? 1
}
