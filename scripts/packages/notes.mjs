// What goes beside the packages of a release: notes, the list of their parts, checksums.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './run.mjs'

/** The part of the changelog under the heading of this version, or, before it has one, under `Unreleased`. */
export function releaseNotes(changelog, version) {
  const sections = changelog.split(/^## /m).slice(1)
  const named = (name) => sections.find((section) => section.split(/[\s(]/, 1)[0].replace(/^\[|\]$/g, '') === name)
  const section = named(version) ?? named('Unreleased')
  if (section === undefined) throw new Error(`CHANGELOG.md has no section for ${version}`)
  return `# Sluice ${version}\n\n${section.slice(section.indexOf('\n')).trim()}\n`
}

/** Of the packages that are bundled into the program, the dashboard and the documentation. */
const LICENSES = ['dist/program/licenses.md', 'build/dashboard/licenses.md', 'build/docs/licenses.md']

/** A bill of materials in the format CycloneDX: every package that is installed with Sluice, or is a part of it. */
export function writeSbom(app, file) {
  const args = ['sbom', '--omit=dev', '--sbom-format=cyclonedx', '--sbom-type=application']
  const sbom = JSON.parse(run('npm', args, { cwd: app }))
  const bundled = LICENSES.flatMap((name) => componentsIn(readFileSync(join(app, name), 'utf8')))
  sbom.components.push(...bundled)
  writeFileSync(file, `${JSON.stringify(sbom, null, 2)}\n`)
}

/** @param licenses what Vite wrote, with a heading for each package */
function componentsIn(licenses) {
  const headings = [...licenses.matchAll(/^## (\S+) - (\S+) \((.+)\)$/gm)]
  if (headings.length === 0) throw new Error('the list of licences names no package')
  return headings.map(([, name, version, license]) => component(name, version, license))
}

const component = (name, version, license) => ({
  'bom-ref': `${name}@${version}`,
  type: 'library',
  name,
  version,
  scope: 'required',
  purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
  licenses: [{ license: { id: license } }],
})

/** To be checked with `sha256sum --check SHA256SUMS`. */
export function writeChecksums(directory) {
  const files = readdirSync(directory)
    .filter((name) => name !== 'SHA256SUMS')
    .sort()
  const sums = files.map((name) => {
    const sum = createHash('sha256')
      .update(readFileSync(join(directory, name)))
      .digest('hex')
    return `${sum}  ${name}\n`
  })
  writeFileSync(join(directory, 'SHA256SUMS'), sums.join(''))
}
