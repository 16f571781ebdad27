import { spawnSync } from 'node:child_process'

/** What this machine lacks to install Debian into a directory, as a sentence, or null. */
export const missingForDebian = (): string | null =>
  missing('a Debian in a directory', ['mmdebstrap', 'dpkg-deb', 'unshare'])

/** The same to build and run containers. */
export const missingForContainers = (): string | null =>
  missingForDebian() ?? missing('containers', ['buildah', 'podman', 'runc'])

function missing(what: string, programs: readonly string[]): string | null {
  const absent = programs.filter((program) => !works('sh', ['-c', `command -v ${program}`]))
  if (absent.length > 0) return `${what} needs ${absent.join(', ')}`
  if (process.getuid?.() !== 0) return `${what} needs root`
  return works('unshare', ['--mount', 'true']) ? null : `${what} needs leave to mount, which this sandbox does not give`
}

const works = (program: string, args: readonly string[]): boolean => spawnSync(program, args).status === 0
