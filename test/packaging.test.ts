import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { releaseNotes } from '../scripts/packages.mjs'
import { OTHER_VARIABLES } from '../src/config/environment.ts'
import { allKeys, environmentName } from '../src/config/schema.ts'
import { readSources } from './tidy/source.ts'

const root = new URL('../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const documents = (path: string): unknown[] =>
  parseAllDocuments(read(path)).map((document) => document.toJS() as unknown)

describe('the settings that manifests, guides and examples name', () => {
  const known = new Set([...allKeys().map(([path]) => environmentName(path)), ...Object.keys(OTHER_VARIABLES)])
  /** The page of the configuration is made from the schema, and names what Kubernetes sets. */
  const isRead = ({ path }: { path: string }): boolean =>
    /^(packaging|docs(?!\/reference\/configuration\.md)|\.github|\.devcontainer)\/|^[A-Z]+\.md$/.test(path)
  /** `SLUICE_…` and `SLUICE_WEBRTC_…` stand for several; a file name in capitals is none. */
  const namedIn = (text: string): string[] => text.match(/\bSLUICE_[A-Z0-9_]*[A-Z0-9](?![A-Z0-9_…*])/g) ?? []

  test('are keys of the schema', () => {
    const named = readSources(['.'], /./)
      .filter(isRead)
      .flatMap(({ path, text }) => namedIn(text).map((name) => ({ path, name })))
    expect(named.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['packaging/compose.yaml', 'packaging/kubernetes/sluice.yaml', 'packaging/Containerfile']),
    )
    expect(named.filter(({ name }) => !known.has(name))).toEqual([])
  })

  test('are found where they are misspelt', () => {
    expect(namedIn('SLUICE_SERVER_PROT: 1, `SLUICE_`, SLUICE_WEBRTC_…').filter((name) => !known.has(name))).toEqual([
      'SLUICE_SERVER_PROT',
    ])
  })
})

describe('the manifests', () => {
  interface Container {
    readonly securityContext: unknown
    readonly env: { readonly name: string; readonly value?: string }[]
  }

  test('of Kubernetes give no rights, and take secrets by reference', () => {
    const [set, service] = documents('packaging/kubernetes/sluice.yaml') as [
      { kind: string; spec: { template: { spec: { securityContext: unknown; containers: [Container] } } } },
      { kind: string },
    ]
    expect([set.kind, service.kind]).toEqual(['StatefulSet', 'Service'])
    const { securityContext, containers } = set.spec.template.spec
    expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 10_001, fsGroup: 10_001 })
    expect(containers[0].securityContext).toEqual({
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    })
    expect(
      containers[0].env.filter(({ name, value }) => name.startsWith('SLUICE_SECRETS_') && value !== undefined),
    ).toEqual([])
  })

  test('of Compose give no rights, and have no password', () => {
    const [{ services }] = documents('packaging/compose.yaml') as [
      { services: Record<string, Record<string, unknown>> },
    ]
    expect(services['sluice']).toMatchObject({ read_only: true, cap_drop: ['ALL'] })
    expect(Object.keys(services)).toEqual(['sluice', 'postgres'])
    for (const { environment } of Object.values(services))
      for (const value of Object.values(environment as Record<string, string>))
        if (/PASSWORD/.test(value)) expect(value).toContain('${POSTGRES_PASSWORD:?')
  })

  test('of nginx keep the log with tickets from the rotation of Debian, which takes every *.log there and two rules for none', () => {
    const [, log = ''] = /access_log (\S+) hls_bytes/.exec(read('packaging/nginx-hls.conf')) ?? []
    expect(log).toMatch(/^\/var\/log\/nginx\/[^.]+$/)
    expect(read('docs/guides/hls-cache.md')).toContain(`\n${log} {\n  hourly\n`)
  })

  test('name this version, and so do the guide and the changelog', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string }
    const texts = readdirSync(new URL('packaging/kubernetes/', root)).map((name) =>
      read(`packaging/kubernetes/${name}`),
    )
    for (const text of [...texts, read('packaging/compose.yaml')])
      expect(text).toContain(`image: localhost/sluice:${version}`)
    const packages = read('docs/guides/install.md').matchAll(/sluice[-_:](\d+\.\d+\.\d+)/g)
    expect(new Set([...packages].map(([, named]) => named))).toEqual(new Set([version]))
    // Below what is not released yet.
    expect([...read('CHANGELOG.md').matchAll(/^## (\S+)/gm)].map(([, named]) => named).slice(0, 2)).toEqual([
      'Unreleased',
      version,
    ])
  })
})

describe('the notes of a release', () => {
  const changelog =
    '# Changelog\n\n## Unreleased\n\n- New.\n\n## [1.2.0] (2026-11-01)\n\n- Older.\n\n## 1.1.0\n\n- Oldest.\n'

  test('are the section of its version, or before it has one, of what is unreleased', () => {
    expect(releaseNotes(changelog, '1.2.0')).toBe('# Sluice 1.2.0\n\n- Older.\n')
    expect(releaseNotes(changelog, '1.1.0')).toBe('# Sluice 1.1.0\n\n- Oldest.\n')
    expect(releaseNotes(changelog, '1.3.0')).toBe('# Sluice 1.3.0\n\n- New.\n')
    expect(() => releaseNotes('# Changelog\n', '1.0.0')).toThrow('CHANGELOG.md has no section for 1.0.0')
  })
})
