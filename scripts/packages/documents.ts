// Writes the man page and the completions, which the Debian package installs.
//   node scripts/packages/documents.ts DIRECTORY
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { VERSION } from '../../src/base/version.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { completionScript } from '../../src/cli/completion.ts'
import { manPage } from '../../src/cli/manPage.ts'

const [, , directory = '.'] = process.argv
writeFileSync(join(directory, 'sluice.1'), manPage(COMMANDS, VERSION))
for (const shell of ['bash', 'zsh', 'fish'] as const)
  writeFileSync(join(directory, `sluice.${shell}`), `${completionScript(COMMANDS, shell)}\n`)
