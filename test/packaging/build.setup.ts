import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { build, buildDeb, packTarball, stage } from '../../scripts/packages.mjs'
import { debianRoot } from './debian.ts'
import { missingForContainers, missingForDebian, missingForForeign } from './machine.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The paths of what was built. */
    packages: {
      readonly tarball: string
      readonly app: string
      /** The Debian package for a processor that this machine does not have, by Node's name of it. */
      readonly foreign: { readonly arch: string; readonly deb: string }
      readonly debs: { readonly old: string; readonly newer: string }
      /** A Debian without anything else, as a tar file. Null: this machine cannot make one. */
      readonly debian: string | null
    }
  }
}

/** Builds each package once, as the release does, and the Debian that they are installed into. */
export default async function setup(project: TestProject): Promise<() => void> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-packages-'))
  const [app, debian] = await Promise.all([builtApp(directory), debianRoot(join(directory, 'debian.tar'))])
  for (const missing of [missingForDebian(), missingForContainers(), missingForForeign(OTHER)])
    if (missing !== null) console.warn(`packages: tests are left out: ${missing}`)
  const old = buildDeb(app.app, directory, { compression: UNPACKED })
  const newer = buildDeb(app.app, directory, { compression: UNPACKED, version: '99.0.0-rc.1' })
  project.provide('packages', { ...app, debs: { old, newer }, debian })
  return () => rmSync(directory, { recursive: true })
}

/** Compression takes longer than all the rest. */
const UNPACKED = ['-Znone']

const OTHER = process.arch === 'arm64' ? 'x64' : 'arm64'

async function builtApp(directory: string) {
  await build()
  const tarball = packTarball(directory)
  return { tarball, app: stage(tarball, directory), foreign: foreignDeb(tarball, directory) }
}

function foreignDeb(tarball: string, directory: string) {
  const app = stage(tarball, join(directory, OTHER), OTHER)
  const deb = buildDeb(app, directory, { arch: OTHER, compression: UNPACKED })
  // Half of what the tests write.
  rmSync(app, { recursive: true })
  return { arch: OTHER, deb }
}
