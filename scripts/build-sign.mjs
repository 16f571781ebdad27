// Builds dist/sign.js for `import 'sluice/sign'`, because Node does not strip types in installed packages. Runs after
// each install that allows scripts, otherwise before the first start or test. Does nothing if the file is newer than
// its source. Without the development packages there is no compiler, and then no code imports it.
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
