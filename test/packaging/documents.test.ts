import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { run } from '../../scripts/packages.mjs'

const folder = mkdtempSync(join(tmpdir(), 'sluice-documents-'))
afterAll(() => rmSync(folder, { recursive: true }))
run(process.execPath, ['scripts/packages/documents.ts', folder])
const at = (name: string): string => join(folder, name)

/** Declares a test for a program that is installed; otherwise prints that the test is left out. */
function testWith(program: string, name: string, body: () => void): void {
  if (spawnSync('sh', ['-c', `command -v ${program}`]).status === 0) test(name, body)
  else console.warn(`packages: tests are left out: there is no ${program}`)
}

testWith('man', 'man shows the manual without a complaint', () => {
  const { stdout, stderr } = spawnSync('man', ['--warnings', '--local-file', at('sluice.1')], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C.UTF-8', MANWIDTH: '100' },
  })
  expect(stderr).toBe('')
  expect(stdout).toContain('token create')
})

testWith('fish', 'fish completes commands, flags, and no flag of another command', () => {
  const completed = (line: string): string[] =>
    run('fish', ['--no-config', '-c', `source ${at('sluice.fish')}; complete -C '${line}'`])
      .split('\n')
      .map((one) => one.split('\t', 1)[0] ?? '')
      .filter((one) => one !== '')
  expect(completed('sluice toke')).toEqual(['token'])
  expect(completed('sluice token cre')).toEqual(['create'])
  expect(completed('sluice --data x token create --lab')).toEqual(['--label'])
  expect(completed('sluice serve --lab')).toEqual([])
})

testWith('zsh', 'zsh completes commands with what they do', () => {
  // `_describe` is what the completion system of zsh calls in the end.
  const ask = [
    'compdef() { }; _files() { print FILES }',
    '_describe() { print -l -- "${(@P)3}" }',
    `source ${at('sluice.zsh')}`,
    'words=(sluice token cre) CURRENT=3; _sluice',
    'words=(sluice --data x) CURRENT=3; _sluice',
  ].join('\n')
  const lines = run('zsh', ['--no-rcs', '-c', ask]).trim().split('\n')
  expect(lines.some((line) => line.startsWith('create:'))).toBe(true)
  expect(lines.at(-1)).toBe('FILES')
})
