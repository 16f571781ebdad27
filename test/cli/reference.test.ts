import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { referenceMarkdown } from '../../src/cli/reference.ts'

const file = new URL('../../docs/reference/command-line.md', import.meta.url)
const document = readFileSync(file, 'utf8')

it('docs/reference/command-line.md contains the reference that the command table generates (npm run generate makes it)', () => {
  const [, generated] = document.split(/<!-- commands: (?:generated -->\n\n|end -->)/)
  expect(generated).toBe(`${referenceMarkdown(COMMANDS)}\n`)
})

it('docs/reference/command-line.md names every command and every flag', () => {
  for (const { path, flags, args } of COMMANDS) {
    const name = path.join(' ')
    const section = document.split(new RegExp(`^##+ ${name}$`, 'm'))[1]?.split(/^##/m)[0] ?? ''
    expect(section, name).toContain(`sluice ${name}`)
    for (const flag of Object.keys(flags)) expect(section, name).toContain(`\`--${flag}`)
    for (const arg of Object.values(args)) expect(section, name).toContain(`\`${arg.placeholder}\``)
  }
})
