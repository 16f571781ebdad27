// Compiles the libraries that other projects import, because Node does not strip types in installed packages. Runs after
// each install that allows scripts, otherwise before the first start or test. Without the development packages there is
// no compiler, and then no code imports them.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
export const compiler = at('node_modules/typescript/bin/tsc')

/** Milliseconds; of a folder the latest of all files in it, and 0 if it does not exist. */
export function changedAtMs(path) {
  if (!existsSync(path)) return 0
  if (!statSync(path).isDirectory()) return statSync(path).mtimeMs
  return Math.max(0, ...readdirSync(path).map((name) => changedAtMs(`${path}/${name}`)))
}

/** Does nothing if `built` is newer than `source`, a file or a folder. */
export function compile({ source, built, config }) {
  if (!existsSync(compiler) || changedAtMs(at(built)) >= changedAtMs(at(source))) return
  const { status } = spawnSync(process.execPath, [compiler, '-p', config], { cwd: at('.'), stdio: 'inherit' })
  process.exitCode = status ?? 1
}
