import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { findFile } from './programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-packages-'))
const PACKAGE = `made-by-${folder.split('-').at(-1)}`
const PROGRAMS = fileURLToPath(new URL('programs.ts', import.meta.url))
const UNPACKED = fileURLToPath(new URL(`../../build/proxies/${PACKAGE}`, import.meta.url))
afterAll(() => {
  rmSync(folder, { recursive: true })
  rmSync(UNPACKED, { recursive: true, force: true })
})

function script(name: string, lines: readonly string[]): void {
  writeFileSync(join(folder, name), ['#!/bin/sh', ...lines, ''].join('\n'))
  chmodSync(join(folder, name), 0o755)
}

test('a package that another process unpacks meanwhile is whole for both, and nothing is left of the other copy', () => {
  const find = `import { findFile } from '${PROGRAMS}'; console.log(findFile('usr/its-file', ['${PACKAGE}']))`
  const other = `INNER=1 '${process.execPath}' --input-type=module -e "${find}" > '${folder}/other'`
  // While one process downloads, another one begins and ends.
  script('apt-get', [`[ -n "$INNER" ] || ${other}`, 'echo "${INNER:-0}" > its.deb'])
  script('dpkg-deb', ['mkdir -p "$3/usr"', 'cp "$2" "$3/usr/its-file"'])
  const path = process.env['PATH']
  process.env['PATH'] = `${folder}${delimiter}${path}`
  try {
    expect(findFile('usr/its-file', [PACKAGE])).toBe(join(UNPACKED, 'usr/its-file'))
  } finally {
    process.env['PATH'] = path
  }
  expect(readFileSync(join(folder, 'other'), 'utf8').trim()).toBe(join(UNPACKED, 'usr/its-file'))
  expect(readFileSync(join(UNPACKED, 'usr/its-file'), 'utf8')).toBe('1\n')
  const root = dirname(UNPACKED)
  expect(readdirSync(root).filter((name) => existsSync(join(root, name, 'its.deb')))).toEqual([PACKAGE])
})
