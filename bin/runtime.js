// Finds a Node that can run Sluice, and the program for it. Plain JavaScript, for it runs on whatever Node was there
// first (20 or later).
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))

/** The program as it is written. */
export const SOURCES = at('src/main.ts')

/** What is built of it: `npm run build` does it for packages, and `npm start` for itself. */
export const BUILT = at('dist/main.js')

/** A package has no sources: Node strips no types in node_modules. */
export const IS_PACKAGE = !existsSync(SOURCES)

/** All that decides what is built. */
const INGREDIENTS = ['src', 'package-lock.json', 'scripts/build-program.mjs']

/** Whether dist/ has what the sources are now. */
export const isCurrent = (directory = at('')) =>
  isBuiltOf(
    join(directory, 'dist/main.js'),
    INGREDIENTS.map((path) => join(directory, path)),
  )

/**
 * Whether the file `built` is there, and has what its sources are now: files, and folders with all in them. By the times of
 * change that no program can set, because copies often keep those of modification.
 */
export function isBuiltOf(built, sources) {
  const stat = statSync(built, { throwIfNoEntry: false })
  return stat !== undefined && sources.every((path) => changedAtMs(path) <= stat.mtimeMs)
}

/** Of a folder the latest of all in it, so that what was renamed or removed counts too; 0: it does not exist. */
function changedAtMs(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat?.isDirectory()) return stat?.ctimeMs ?? 0
  return Math.max(stat.ctimeMs, ...readdirSync(path).map((name) => changedAtMs(join(path, name))))
}

/**
 * Where Node keeps what it compiled of the sources: beside the packages, for this user only, and gone with them. What is
 * built starts as fast without, and its directory may not be writable.
 */
export const COMPILE_CACHE = at('node_modules/.cache/sluice')

/** node:sqlite is a release candidate from here on, and TypeScript runs without a flag. */
export const MINIMUM = [24, 15]

/**
 * What Node is given to run Sluice. By default the nursery of the heap grows to 48 MB for what dies young anyway; half of
 * it serves as well, while an eighth costs 4% of the instructions of each request. It has that size from the first moment:
 * what a start loads stays, and to copy it from a small nursery several times takes 60 ms of a second. And a server that
 * has started lets go of what only the start needed (cli/serve.ts).
 *
 * The heap may double between two collections of the old generation. By default it may grow by 8 MB here, buffers included:
 * ten publishers of 6 Mbit/s have that twice a second, and the collections took half of the processor time that their media
 * did. With twenty of them it costs 40 MB more than growth by half, and a third less of the processor.
 */
export const OPTIONS = [
  '--min-semi-space-size=8',
  '--max-semi-space-size=8',
  '--heap-growing-percent=100',
  '--expose-gc',
]

/** Imported before the program, it ends the process when the pipe at its file descriptor 3 does. */
export const FOLLOW_PARENT = ['--import', new URL('./follow-parent.js', import.meta.url).href]

/** npm is our parent, or the shell is that it began: for a script of package.json, or for npx. */
export const IS_UNDER_NPM = process.env.npm_package_name === 'sluice' || process.env.npm_lifecycle_event === 'npx'

/** The same for a process that npm started. */
export const FOLLOW_NPM = IS_UNDER_NPM ? ['--import', new URL('./follow-npm.js', import.meta.url).href] : []

/** The program of a Node that can run Sluice, or undefined. */
export const findNode = () => (isNewEnough(process.versions.node) ? process.execPath : findPinnedNode())

/** @param {string} version such as v24.15.0 */
export function isNewEnough(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1])
}

/** The program of the Node that npm installed for this machine, or undefined. */
export function findPinnedNode() {
  const isWindows = process.platform === 'win32'
  const name = `node-${isWindows ? 'win' : process.platform}-${process.arch}`
  const program = findPackaged(`${name}/bin/${isWindows ? 'node.exe' : 'node'}`)
  return program !== undefined && runsHere(program) ? program : undefined
}

/** In our own node_modules, or in those around us: npm puts the packages of a project beside one another. */
function findPackaged(file) {
  try {
    return createRequire(import.meta.url).resolve(file)
  } catch {
    return undefined
  }
}

/** Installed is not enough: a binary for another C library is there too, and does not start. */
function runsHere(program) {
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8', timeout: 10_000 })
  return status === 0 && isNewEnough(stdout.trim())
}

/** What to tell somebody without one. */
export const NO_NODE = `Sluice needs Node ${MINIMUM.join('.')} or later, and this is Node ${process.versions.node}.
${
  IS_PACKAGE
    ? 'The package brings one for Linux, for Windows and macOS on x64, unless npm was told to leave optional packages out.'
    : 'Run "npm ci" in the directory of Sluice, which installs one beside it.'
}
Or start it with a newer Node of your own${ownNode()}.`

/** No package has a current Node for Apple silicon. */
function ownNode() {
  return process.platform === 'darwin' ? ': "brew install node@24"; and for media "brew install ffmpeg"' : ''
}
