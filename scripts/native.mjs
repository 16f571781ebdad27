// Builds the addons of native/, the fast back ends of the relay and of HLS, if this machine can. Plain JavaScript
// that runs on Node 20. The addons are optional: without a matching addon, JavaScript does its work.
//   node scripts/native.mjs [SOURCE OUTPUT]
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const path = (relative) => fileURLToPath(new URL(`../${relative}`, import.meta.url))
const ADDONS = ['fanout', 'udp', 'splice', 'memory']

/** `more`: flags of the compiler. */
export function buildNative(folder = path('build/native'), more = []) {
  for (const name of ADDONS)
    build(path(`native/${name}.c`), join(folder, `${name}-${process.platform}-${process.arch}.node`), more)
}

/** Prints the result in one line, or nothing if there was nothing to do. */
function build(source, output, more = []) {
  if (process.platform !== 'linux' || isFresh(source, output)) return
  const headers = findHeaders()
  if (headers === undefined) return skip('the headers of Node are not here')
  if (spawnSync('cc', ['--version'], { timeout: 10_000 }).status !== 0) return skip('no C compiler is here')
  const problem = compile(headers, source, output, more)
  if (problem !== undefined) return skip(problem)
  console.log(`setup: built ${basename(output)} out of ${basename(source)}`)
}

const skip = (why) => console.log(`setup: ${why}; JavaScript serves media alone, which costs more CPU`)

const isFresh = (source, output) =>
  existsSync(output) &&
  [source, ...headersBeside(source)].every((one) => statSync(one).mtimeMs <= statSync(output).mtimeMs)

const headersBeside = (source) =>
  readdirSync(dirname(source))
    .filter((name) => name.endsWith('.h'))
    .map((name) => join(dirname(source), name))

/** The headers of the Node that npm installed, of the running one, or of the system. */
function findHeaders() {
  const directories = [
    path(`node_modules/node-linux-${process.arch}/include/node`),
    join(dirname(dirname(process.execPath)), 'include/node'),
    '/usr/include/node',
  ]
  return directories.find(
    (directory) => existsSync(join(directory, 'node_api.h')) && existsSync(join(directory, 'openssl/evp.h')),
  )
}

/**
 * Compiles beside the output and moves the result there, so that no process loads an incomplete file. Returns the
 * error, or undefined.
 */
function compile(headers, source, output, more) {
  mkdirSync(dirname(output), { recursive: true })
  const made = `${output}.${process.pid}`
  // With `now`, a Node that lacks one of the functions refuses to load the addon, instead of crashing at the first
  // call.
  const flags = [
    '-O2',
    '-std=gnu11',
    '-shared',
    '-fPIC',
    '-fvisibility=hidden',
    '-fstack-protector-strong',
    '-Wl,-z,now',
  ]
  const warnings = ['-Wall', '-Wextra', ...(process.env.CI ? ['-Werror'] : [])]
  const args = [...flags, ...more, ...warnings, `-I${headers}`, '-o', made, source]
  const { status, stderr, error } = spawnSync('cc', args, { timeout: 60_000, encoding: 'utf8' })
  if (status !== 0)
    return `${basename(source)} does not compile: ${(error?.message ?? stderr).trim().split('\n', 1)[0]}`
  renameSync(made, output)
  return undefined
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [source, output] = process.argv.slice(2)
  if (source !== undefined && output !== undefined) build(source, output)
  else buildNative()
}
