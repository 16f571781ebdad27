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

/** A bill of materials in the format CycloneDX: every package that is installed with Sluice. */
export function writeSbom(app, file) {
  const args = ['sbom', '--omit=dev', '--sbom-format=cyclonedx', '--sbom-type=application']
  writeFileSync(file, run('npm', args, { cwd: app }))
}

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
