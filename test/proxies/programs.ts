import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A program, and the environment that it needs. */
export interface Program {
  readonly path: string
  readonly env: NodeJS.ProcessEnv
}

const FOLDER = fileURLToPath(new URL('../../build/proxies/', import.meta.url))

/**
 * Finds a program in PATH. Otherwise it unpacks Debian packages below `build/`, without installing them: an installed
 * proxy would start as a service of the developer's machine. Null: neither is possible here.
 */
export function findProgram(name: string, packages: readonly string[]): Program | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
  if (found !== undefined) return { path: found, env: process.env }
  const own = () => ['usr/bin', 'usr/sbin'].map((folder) => join(FOLDER, folder, name)).find((path) => existsSync(path))
  if (own() === undefined && !unpack(packages)) return null
  const path = own()
  const libraries = join(FOLDER, 'usr/lib', process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu')
  return path === undefined ? null : { path, env: { ...process.env, LD_LIBRARY_PATH: libraries } }
}

/** The same for a file, such as a module of a program. @param path without the slash that it begins with */
export function findFile(path: string, packages: readonly string[]): string | null {
  const found = () => [`/${path}`, join(FOLDER, path)].find((one) => existsSync(one))
  return found() ?? (unpack(packages) ? (found() ?? null) : null)
}

function unpack(packages: readonly string[]): boolean {
  mkdirSync(FOLDER, { recursive: true })
  const fetched = spawnSync('apt-get', ['download', '-qq', ...packages], { cwd: FOLDER, stdio: 'ignore' })
  if (fetched.status !== 0) return false
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.deb'))
  for (const file of files) execFileSync('dpkg-deb', ['-x', join(FOLDER, file), FOLDER])
  return true
}
