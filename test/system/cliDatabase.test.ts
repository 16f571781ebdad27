import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { command, newDirectory } from './cliProcess.ts'

test('a command in the wrong directory showed empty lists: it says that it makes a database, once', async () => {
  const dir = newDirectory()
  const list = () => command(['token', 'list', '--data', dir, '--json'])
  const first = await list()
  expect(first).toMatchObject({ status: 0, stdout: '[]\n' })
  expect(JSON.parse(first.stderr)).toMatchObject({ level: 'warn', dataDir: dir, message: NEW })
  expect(await list()).toMatchObject({ status: 0, stderr: '' })
  rmSync(dir, { recursive: true })
})

const NEW = 'there is no database here, so this command makes a new one'
