import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { offlineLauncher, type TryLauncher } from '../../src/base/offline.ts'

const AS_ROOT = 'unshare --net'
const AS_USER = 'unshare --user --map-current-user --net'

const folder = mkdtempSync(join(tmpdir(), 'sluice-offline-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** What is chosen, and what was tried before, where these launchers work. */
async function chosenWhere(working: readonly string[], platform: NodeJS.Platform = 'linux') {
  const tried: string[] = []
  const works: TryLauncher = async (words) => {
    tried.push(words.join(' '))
    return working.includes(words.join(' '))
  }
  return { chosen: (await offlineLauncher(works, platform)).join(' '), tried }
}

/** A folder with an `unshare` that is this script. It alone is in PATH, with the folders of the system behind it. */
function withUnshare(script: string): void {
  const path = join(folder, 'unshare')
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
  vi.stubEnv('PATH', `${folder}:/usr/bin:/bin`)
}

test('a namespace of its own comes before one in a user namespace, and that before none', async () => {
  expect(await chosenWhere([AS_ROOT, AS_USER])).toEqual({ chosen: AS_ROOT, tried: [AS_ROOT] })
  expect(await chosenWhere([AS_USER])).toEqual({ chosen: AS_USER, tried: [AS_ROOT, AS_USER] })
  expect(await chosenWhere([])).toEqual({ chosen: '', tried: [AS_ROOT, AS_USER] })
})

test('nothing is tried on systems other than Linux', async () => {
  expect(await chosenWhere([AS_ROOT, AS_USER], 'darwin')).toEqual({ chosen: '', tried: [] })
  expect(await chosenWhere([AS_ROOT, AS_USER], 'win32')).toEqual({ chosen: '', tried: [] })
})

test('a launcher counts only if it starts a program', async () => {
  const chosen = async (script: string): Promise<string> => {
    withUnshare(script)
    const words = await offlineLauncher()
    vi.unstubAllEnvs()
    return words.join(' ')
  }
  const isLinux = process.platform === 'linux'
  const start = 'while [ "$1" != unshare ]; do shift; done; shift; [ "$1" = --version ]'
  expect(await chosen(start)).toBe(isLinux ? AS_ROOT : '')
  expect(await chosen(`[ "$1" = --user ] || exit 1; ${start}`)).toBe(isLinux ? AS_USER : '')
  expect(await chosen('echo "unshare failed: Operation not permitted" >&2; exit 1')).toBe('')
})
