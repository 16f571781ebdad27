import { spawnSync } from 'node:child_process'
import { compilerFor } from '../../scripts/packages.mjs'

/** What this machine lacks to install Debian into a directory, as a sentence, or null. */
export const missingForDebian = (): string | null =>
  missing('a Debian in a directory', ['mmdebstrap', 'dpkg-deb', 'unshare'])

/** The same to build and run containers. */
export const missingForContainers = (): string | null =>
  missingForDebian() ?? missing('containers', ['buildah', 'podman', 'runc'])

/** What this machine lacks to build the addons for a processor, by Node's name of it. */
export const missingCompiler = (arch: string): string | null => absent(`C for ${arch}`, [compilerFor(arch).program])

/** The same to try a package for another processor; only arm64 is emulated. */
export const missingForForeign = (arch: string): string | null =>
  missingCompiler(arch) ?? (arch === 'arm64' ? absent('arm64', ['qemu-aarch64']) : null)

function absent(what: string, programs: readonly string[]): string | null {
  const names = programs.filter((program) => !works('sh', ['-c', `command -v ${program}`]))
  return names.length > 0 ? `${what} needs ${names.join(', ')}` : null
}

function missing(what: string, programs: readonly string[]): string | null {
  const needs = absent(what, programs)
  if (needs !== null) return needs
  if (process.getuid?.() !== 0) return `${what} needs root`
  return works('unshare', ['--mount', 'true']) ? null : `${what} needs leave to mount, which this sandbox does not give`
}

const works = (program: string, args: readonly string[]): boolean => spawnSync(program, args).status === 0
