import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { folderBeside, moveWhole } from './wholeFolder.ts'

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

const BUILDS = at('build/test-program')

/** What the program is built of. */
const SOURCES = ['src', 'bin', 'scripts/build-program.mjs', 'scripts/compile.mjs', 'package.json', 'package-lock.json']

/** What a package has besides, and the program reads where it is. */
const BESIDE = [
  'build/dashboard',
  'build/docs',
  'build/native',
  'build/player',
  'config.default.yaml',
  'package.json',
  'web',
  'CHANGELOG.md',
]

const DAY_MS = 24 * 3_600_000

/** Sluice as a package has it: a start takes half of the processor time that it takes from the sources. */
export interface BuiltProgram {
  /** The program as `bin/sluice.js` runs it. */
  readonly main: string
  /** What a package has as `sluice`. */
  readonly bin: string
  /** Where Node keeps what it compiled of this program. */
  readonly compileCache: string
}

let built: Promise<BuiltProgram> | null = null

/**
 * Of the sources as they are: a build has the hash of them in its path, so that none is ever stale.
 *
 * @throws when the sources cannot be bundled, or change meanwhile
 */
export function builtProgram(): Promise<BuiltProgram> {
  built ??= provide(join(BUILDS, hashOfSources()))
  return built
}

async function provide(folder: string): Promise<BuiltProgram> {
  if (!existsSync(folder)) await build(folder)
  utimesSync(folder, new Date(), new Date())
  return {
    main: join(folder, 'dist/main.js'),
    bin: join(folder, 'bin/sluice.js'),
    compileCache: join(folder, 'compile-cache'),
  }
}

/** Of names and contents: a file that is renamed, or gone, makes another one. */
function hashOfSources(): string {
  const hash = createHash('sha256').update(readFileSync(fileURLToPath(import.meta.url)))
  for (const path of SOURCES.flatMap(filesOf)) {
    const content = readFileSync(at(path))
    hash.update(`${path}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex').slice(0, 32)
}

function filesOf(path: string): string[] {
  if (!statSync(at(path)).isDirectory()) return [path]
  const entries = readdirSync(at(path), { recursive: true, withFileTypes: true })
  return entries
    .flatMap((entry) => (entry.isFile() ? [relative(at(''), join(entry.parentPath, entry.name))] : []))
    .sort()
}

/** Beside its place, and moved there when it is whole: two runs of the tests may build at once. */
async function build(folder: string): Promise<void> {
  removeUnused(BUILDS)
  const made = folderBeside(folder)
  mkdirSync(join(made, 'build'))
  for (const path of BESIDE) symlinkSync(at(path), join(made, path))
  cpSync(at('bin'), join(made, 'bin'), { recursive: true })
  const { NODE_ENV: _, ...env } = process.env
  await promisify(execFile)(process.execPath, [at('scripts/build-program.mjs'), join(made, 'dist')], { env })
  if (join(BUILDS, hashOfSources()) !== folder) throw new Error('a source changed while it was built: test again')
  moveWhole(made, folder)
}

/** Removes from a folder what was made for earlier runs, or was not finished. Each use renews the time of an entry. */
export function removeUnused(folder: string): void {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const { mtimeMs = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {}
    if (Date.now() - mtimeMs > DAY_MS) rmSync(path, { recursive: true, force: true })
  }
}
