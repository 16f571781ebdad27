// Finds a Node that can run Sluice. Plain JavaScript, for it runs on whatever Node was there first (20 or later).
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Where Node keeps what it compiled: beside the packages, for this user only, and gone with them. */
export const COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/sluice', import.meta.url))

/** node:sqlite is a release candidate from here on, and TypeScript runs without a flag. */
export const MINIMUM = [24, 15]

/**
 * What Node is given to run Sluice. By default the nursery of the heap grows to 48 MB for what dies young anyway; half of
 * it serves as well, while an eighth costs 4% of the instructions of each request. And a server that has started lets go
 * of what only the start needed (cli/serve.ts).
 */
export const PROGRAM = [
  '--max-semi-space-size=8',
  '--expose-gc',
  fileURLToPath(new URL('../src/main.ts', import.meta.url)),
]

/** Imported before the program, it ends the process when the pipe at its file descriptor 3 does. */
export const FOLLOW_PARENT = ['--import', new URL('./follow-parent.js', import.meta.url).href]

/** The same for a process that npm started: it has npm as its parent. */
export const FOLLOW_NPM =
  process.env.npm_package_name !== 'sluice' ? [] : ['--import', new URL('./follow-npm.js', import.meta.url).href]

/** The program of a Node that can run Sluice, or undefined. */
export const findNode = () => (isNewEnough(process.versions.node) ? process.execPath : findPinnedNode())

/** @param {string} version such as v24.15.0 */
export function isNewEnough(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1])
}

/** The program of the Node that npm installed for this machine, or undefined. */
export function findPinnedNode() {
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const program = process.platform === 'win32' ? 'node.exe' : 'node'
  const places = [`node_modules/.bin/${program}`, `node_modules/node-${platform}-${process.arch}/bin/${program}`]
  return places.map((place) => fileURLToPath(new URL(`../${place}`, import.meta.url))).find(runsHere)
}

/** Installed is not enough: a binary for another C library is there too, and does not start. */
function runsHere(program) {
  if (!existsSync(program)) return false
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8', timeout: 10_000 })
  return status === 0 && isNewEnough(stdout.trim())
}

/** What to tell somebody without one. */
export const NO_NODE = `Sluice needs Node ${MINIMUM.join('.')} or later, and this is Node ${process.versions.node}.
Run "npm ci" in the directory of Sluice, which installs one beside it, or start it with a newer Node of your own.`
