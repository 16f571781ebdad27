import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Every file below a folder, also below its links to files, in the order of their names. */
export const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()

/** Node and the addons, in a folder with what a package installs. */
export const programsIn = (folder: string): string[] =>
  filesIn(folder).filter((path) => path.endsWith('.node') || path.endsWith('/bin/node'))

/** Fields `e_machine` of ELF, by Node's name of the processor. */
const MACHINES: Readonly<Record<string, number>> = { x64: 62, arm64: 183 }

/** The processor that a program is for, by Node's name. Undefined: another one, or the file is no program. */
export function architectureOf(path: string): string | undefined {
  const head = readFileSync(path).subarray(0, 20)
  if (head.toString('latin1', 0, 4) !== '\x7fELF') return undefined
  return Object.keys(MACHINES).find((name) => MACHINES[name] === head.readUInt16LE(18))
}

/** The minor number of a version of the GNU C library. */
export const minor = (version: string): number => Number(version.split('.')[1])

/** The minor number of the newest version of the GNU C library that a program names. */
export const newestGlibc = (path: string): number =>
  Math.max(...[...readFileSync(path, 'latin1').matchAll(/GLIBC_(2\.\d+)/g)].map(([, version = '']) => minor(version)))
