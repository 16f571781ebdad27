// Builds the addons of native/, the fast back ends of the relay and of HLS, if this machine can: its own, and for packages
// those of other processors. Plain JavaScript that runs on Node 20. The addons are optional: without a matching addon,
// JavaScript does its work.
//   node scripts/native.mjs [SOURCE OUTPUT]
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isBuiltOf } from '../bin/runtime.js'

const path = (relative) => fileURLToPath(new URL(`../${relative}`, import.meta.url))
const ADDONS = ['fanout', 'udp', 'splice', 'memory']
const SCRIPT = fileURLToPath(import.meta.url)
const BUILT = path('build/native')
/** Without names and tables that only a debugger reads. */
const STRIPPED = ['-s', '-fno-asynchronous-unwind-tables', '-fno-unwind-tables']

/** The processors that packages are for, as Node names them, and the compiler for each on a machine with another one. */
const CROSS_COMPILERS = { x64: 'x86_64-linux-gnu-gcc', arm64: 'aarch64-linux-gnu-gcc' }
const CROSS_PACKAGES = {
  x64: 'gcc-x86-64-linux-gnu libc6-dev-amd64-cross',
  arm64: 'gcc-aarch64-linux-gnu libc6-dev-arm64-cross',
}
export const ARCHITECTURES = Object.keys(CROSS_COMPILERS)

/** The compiler of C for a processor, and the packages of Debian that have it. */
export const compilerFor = (arch) =>
  arch === process.arch
    ? { program: 'cc', debian: 'gcc libc6-dev' }
    : { program: CROSS_COMPILERS[arch], debian: CROSS_PACKAGES[arch] }

/** For this machine. `flags`: more ones of the compiler. */
export function buildNative(folder = BUILT, flags = STRIPPED) {
  for (const name of ADDONS) build(sourceOf(name), join(folder, nameOf(name, process.arch)), flags)
}

const sourceOf = (name) => path(`native/${name}.c`)
const nameOf = (name, arch) => `${name}-${process.platform}-${arch}.node`

/** For the processors that this machine does not have, because a package for npm serves all of them. */
export function buildForeign() {
  for (const arch of ARCHITECTURES) if (arch !== process.arch && process.platform === 'linux') cross(arch)
}

function cross(arch) {
  const { program, debian } = compilerFor(arch)
  const outputs = ADDONS.map((name) => [sourceOf(name), join(BUILT, nameOf(name, arch))])
  if (works(program)) {
    for (const [source, output] of outputs) build(source, output, STRIPPED, program)
    return
  }
  // Of other sources, perhaps.
  for (const [, output] of outputs) rmSync(output, { force: true })
  console.log(`setup: packages have no addons for ${arch}, because ${program} is missing (apt-get install ${debian})`)
}

/** Prints the result in one line, or nothing if there was nothing to do. */
function build(source, output, flags = STRIPPED, compiler = 'cc') {
  if (process.platform !== 'linux' || isFresh(source, output)) return
  const headers = findHeaders()
  if (headers === undefined) return skip('the headers of Node are not here')
  if (!works(compiler)) return skip('no C compiler is here')
  const problem = compile(compiler, headers, source, output, flags)
  if (problem !== undefined) return skip(problem)
  console.log(`setup: built ${basename(output)} out of ${basename(source)}`)
}

const works = (compiler) => spawnSync(compiler, ['--version'], { timeout: 10_000 }).status === 0

const skip = (why) => console.log(`setup: ${why}; JavaScript serves media alone, which costs more CPU`)

/** The flags are in this file. */
const isFresh = (source, output) => isBuiltOf(output, [SCRIPT, source, ...headersBeside(source)])

const headersBeside = (source) =>
  readdirSync(dirname(source))
    .filter((name) => name.endsWith('.h'))
    .map((name) => join(dirname(source), name))

/** The headers of the Node that npm installed, of the running one, or of the system: the same for every processor. */
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
function compile(compiler, headers, source, output, more) {
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
  const { status, stderr, error } = spawnSync(compiler, args, { timeout: 60_000, encoding: 'utf8' })
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
