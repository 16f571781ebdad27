// Makes the packages of this version into build/release/, with checksums, a bill of materials and notes. Plain JavaScript
// that runs on Node 20.
//   npm run release [-- tarball] [deb] [image] [--arch arm64]      all that this machine can make, or only these
import { parseArgs } from 'node:util'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { at } from './compile.mjs'
import * as packages from './packages.mjs'

const RELEASE = at('build/release')
const WORK = at('build/stage')
const { version } = packages.manifest

/** How each part is made, and what it needs. */
const PARTS = {
  tarball: { missing: () => null, make: () => undefined },
  deb: {
    missing: () => (packages.isInstalled('dpkg-deb') ? null : 'dpkg-deb, which Debian and Ubuntu have'),
    make: (app) => void packages.buildDeb(app, RELEASE, { arch }),
  },
  image: {
    missing() {
      // Programs of the image run while it is built.
      if (arch !== process.arch) return `a processor of ${arch}`
      return packages.imageTool() ? null : 'docker, podman or buildah'
    },
    make(app) {
      const name = `localhost/sluice:${version}`
      packages.buildImage(app, name)
      packages.saveImage(name, join(RELEASE, `sluice-${version}-image-${packages.debianArchitecture(arch)}.tar`))
    },
  },
}

const { positionals: asked, values } = parseArgs({ allowPositionals: true, options: { arch: { type: 'string' } } })
const { arch = process.arch } = values
const mistake = unknownIn('part', asked, Object.keys(PARTS)) ?? unknownIn('architecture', [arch], architectures())
if (mistake !== undefined) {
  console.error(`release: ${mistake}`)
  process.exitCode = 2
} else await release(asked.length > 0 ? asked : Object.keys(PARTS))

/** This machine's may be another one: a package for it has the Node of npm, if there is one. */
function architectures() {
  return [...new Set([process.arch, ...packages.ARCHITECTURES])]
}

function unknownIn(what, names, known) {
  const unknown = names.filter((name) => !known.includes(name))
  return unknown.length > 0 ? `there is no ${what} ${unknown.join(', ')}; there are: ${known.join(', ')}` : undefined
}

async function release(names) {
  requireCompiler()
  rmSync(RELEASE, { recursive: true, force: true })
  mkdirSync(RELEASE, { recursive: true })
  await packages.build()
  const app = packages.stage(packages.packTarball(RELEASE), WORK, arch)
  for (const name of names) make(name, app)
  packages.writeSbom(app, join(RELEASE, 'sbom.cdx.json'))
  writeFileSync(join(RELEASE, 'NOTES.md'), packages.releaseNotes(readFileSync(at('CHANGELOG.md'), 'utf8'), version))
  packages.writeChecksums(RELEASE)
  console.log(`release: ${version} is in build/release`)
}

/** Packages for another processor are to be as good as those that its machines make. */
function requireCompiler() {
  const { program, debian } = packages.compilerFor(arch)
  if (arch !== process.arch && !packages.isInstalled(program))
    throw new Error(`there are no packages for ${arch}, because ${program} is missing: apt-get install ${debian}`)
}

/** What was asked for by name must be made. */
function make(name, app) {
  const { missing, make } = PARTS[name]
  const needs = missing()
  if (needs === null) make(app)
  else if (asked.length === 0) console.warn(`release: no ${name}, because this machine lacks ${needs}`)
  else throw new Error(`there can be no ${name}, because this machine lacks ${needs}`)
}
