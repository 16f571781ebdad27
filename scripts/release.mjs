// Makes the packages of this version into build/release/, with checksums, a bill of materials and notes. Plain JavaScript
// that runs on Node 20.
//   npm run release [-- tarball] [deb] [image]      all that this machine can make, or only these
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
    make: (app) => void packages.buildDeb(app, RELEASE),
  },
  image: {
    missing: () => (packages.imageTool() ? null : 'docker, podman or buildah'),
    make(app) {
      const name = `localhost/sluice:${version}`
      packages.buildImage(app, name)
      packages.saveImage(name, join(RELEASE, `sluice-${version}-image-${packages.ARCHITECTURE}.tar`))
    },
  },
}

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !(name in PARTS))
if (unknown.length > 0) {
  console.error(`release: there is no part ${unknown.join(', ')}; there are: ${Object.keys(PARTS).join(', ')}`)
  process.exitCode = 2
} else await release(asked.length > 0 ? asked : Object.keys(PARTS))

async function release(names) {
  rmSync(RELEASE, { recursive: true, force: true })
  mkdirSync(RELEASE, { recursive: true })
  await packages.build()
  const app = packages.stage(packages.packTarball(RELEASE), WORK)
  for (const name of names) make(name, app)
  packages.writeSbom(app, join(RELEASE, 'sbom.cdx.json'))
  writeFileSync(join(RELEASE, 'NOTES.md'), packages.releaseNotes(readFileSync(at('CHANGELOG.md'), 'utf8'), version))
  packages.writeChecksums(RELEASE)
  console.log(`release: ${version} is in build/release`)
}

/** What was asked for by name must be made. */
function make(name, app) {
  const { missing, make } = PARTS[name]
  const needs = missing()
  if (needs === null) make(app)
  else if (asked.length === 0) console.warn(`release: no ${name}, because this machine lacks ${needs}`)
  else throw new Error(`there can be no ${name}, because this machine lacks ${needs}`)
}
