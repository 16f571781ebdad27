import { expect, test } from 'vitest'
import { command } from '../../src/cli/command.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { textFlag } from '../../src/cli/flag.ts'
import { manPage } from '../../src/cli/manPage.ts'

test('the manual has every command with its flags', () => {
  const page = manPage(COMMANDS, '1.2.3')
  expect(page).toContain('"Sluice 1.2.3"')
  for (const { path, flags } of COMMANDS) {
    const section = page.split(`\n.SS ${path.join(' ').replaceAll('-', '\\-')}\n`)[1]?.split('\n.SS ')[0] ?? ''
    for (const flag of Object.keys(flags))
      expect(section, path.join(' ')).toContain(`.B \\-\\-${flag.replaceAll('-', '\\-')}`)
  }
})

test('text that the macros would take for a request or an escape stays text', () => {
  const odd = command({
    path: ['odd'],
    summary: "'quoted' at the start",
    detail: '.hidden files\nand C:\\path',
    flags: { a: textFlag('B', '.x') },
    examples: ['sluice odd', 'sluice odd --a b'],
    run: () => Promise.reject(new Error('not run')),
  })
  const lines = manPage([odd], '1').split('\n')
  expect(lines).toEqual(
    expect.arrayContaining(["\\&'quoted' at the start.", '\\&.hidden files', 'and C:\\epath', '\\&.x']),
  )
})
