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
  const works: TryLauncher = async (words, program) => {
    expect(program).toBe('ffmpeg')
    tried.push(words.join(' '))
    return working.includes(words.join(' '))
  }
  return { chosen: (await offlineLauncher('ffmpeg', works, platform)).join(' '), tried }
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

test('a launcher counts only if the program itself runs behind it', async () => {
  const program = join(folder, 'picky')
  writeFileSync(program, '#!/bin/sh\n[ "$1" = -version ] && [ -n "$MAPPED" ]\n')
  chmodSync(program, 0o755)
  withUnshare(
    '[ "$1" = --user ] && { shift; MAPPED=1; export MAPPED; }; while [ "${1#--}" != "$1" ]; do shift; done; exec "$@"',
  )
  expect((await offlineLauncher(program)).join(' ')).toBe(process.platform === 'linux' ? AS_USER : '')
  vi.unstubAllEnvs()
})

test('a program that is installed later gets what works without it', async () => {
  withUnshare('shift; exec "$@"')
  expect((await offlineLauncher(join(folder, 'none'))).join(' ')).toBe(process.platform === 'linux' ? AS_ROOT : '')
  withUnshare('echo "unshare failed: Operation not permitted" >&2; exit 1')
  expect(await offlineLauncher(join(folder, 'none'))).toEqual([])
  vi.unstubAllEnvs()
})
