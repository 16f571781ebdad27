import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { completionScript } from '../../src/cli/completion.ts'

/** What bash suggests after these words; the last one may be a part. */
function suggested(...words: string[]): string[] {
  const line = ['sluice', ...words].map((word) => `'${word}'`).join(' ')
  const ask = `COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = spawnSync('bash', ['-c', `${completionScript(COMMANDS, 'bash')}\n${ask}`], {
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return stdout.split('\n').filter((word) => word !== '')
}

describe('completion suggests', () => {
  test('commands, verbs and flags by what was typed', () => {
    expect(suggested('tok')).toEqual(['token'])
    expect(suggested('token', 'cr')).toEqual(['create'])
    expect(suggested('token', 'create', '--lab')).toEqual(['--label'])
    expect(suggested('serve', '--')).toEqual(expect.arrayContaining(['--port', '--host', '--config', '--json']))
  })

  test('what fits behind flags and their values, and nothing for a value', () => {
    expect(suggested('--json', '--data', 'somewhere', 'token', 'cr')).toEqual(['create'])
    expect(suggested('--data=token', 'sec')).toEqual(['secret'])
    expect(suggested('--data', 'tok')).toEqual([])
    expect(suggested('nothing', '')).toEqual([])
  })

  test.each(['bash', 'zsh', 'fish'] as const)('every command and flag, in %s', (shell) => {
    const script = completionScript(COMMANDS, shell)
    for (const { path, flags } of COMMANDS) {
      expect(script).toContain(path.join(' '))
      for (const flag of Object.keys(flags)) expect(script).toContain(shell === 'fish' ? `-l ${flag}` : `--${flag}`)
    }
  })
})
