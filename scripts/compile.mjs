// Compiles the libraries that other projects import, because Node does not strip types in installed packages. Runs after
// each install that allows scripts, otherwise before the first start or test. Without the development packages there is
// no compiler, and then no code imports them.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isBuiltOf } from '../bin/runtime.js'

export const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
export const compiler = at('node_modules/typescript/bin/tsc')

/** Does nothing if the file `built` has what `source` is now, a file or a folder. */
export function compile({ source, built, config }) {
  if (!existsSync(compiler) || isBuiltOf(at(built), [at(source)])) return
  const { status } = spawnSync(process.execPath, [compiler, '-p', config], { cwd: at('.'), stdio: 'inherit' })
  process.exitCode = status ?? 1
}
