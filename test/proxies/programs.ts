import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { folderBeside, moveWhole } from '../support/wholeFolder.ts'

/** A program, and the environment that it needs. */
export interface Program {
  readonly path: string
  readonly env: NodeJS.ProcessEnv
}

const UNPACKED = fileURLToPath(new URL('../../build/proxies/', import.meta.url))

/**
 * Finds a program in PATH. Otherwise it unpacks Debian packages below `build/`, without installing them: an installed
 * proxy would start as a service of the developer's machine. Null: neither is possible here.
 */
export function findProgram(name: string, packages: readonly string[]): Program | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
  if (found !== undefined) return { path: found, env: process.env }
  const root = unpacked(packages)
  if (root === null) return null
  const path = ['usr/bin', 'usr/sbin'].map((folder) => join(root, folder, name)).find((one) => existsSync(one))
  const libraries = join(root, 'usr/lib', process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu')
  return path === undefined ? null : { path, env: { ...process.env, LD_LIBRARY_PATH: libraries } }
}

/** The same for a file, such as a module of a program. @param path without the slash that it begins with */
export function findFile(path: string, packages: readonly string[]): string | null {
  if (existsSync(`/${path}`)) return `/${path}`
  const root = unpacked(packages)
  return root !== null && existsSync(join(root, path)) ? join(root, path) : null
}

/** The root of the files in these packages, which several processes may unpack at once; null if they cannot be had. */
function unpacked(packages: readonly string[]): string | null {
  const root = join(UNPACKED, packages.join('+'))
  if (existsSync(root)) return root
  const made = folderBeside(root)
  const fetched = spawnSync('apt-get', ['download', '-qq', ...packages], { cwd: made, stdio: 'ignore' })
  if (fetched.status !== 0) {
    rmSync(made, { recursive: true })
    return null
  }
  for (const file of readdirSync(made)) execFileSync('dpkg-deb', ['-x', join(made, file), made])
  moveWhole(made, root)
  return root
}
