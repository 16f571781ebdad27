// Writes the files that are generated from src/config/schema.ts, src/cli/commands.ts, src/core/webhooks/events.ts and
// test/tidy/walls.ts.
// Tests fail if they are stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { COMMANDS } from '../src/cli/commands.ts'
import { referenceMarkdown } from '../src/cli/reference.ts'
import { renderDefaultFile, renderDocument } from '../src/config/render.ts'
import { eventsMarkdown } from '../src/core/webhooks/eventsTable.ts'
import { wallsMarkdown } from '../test/tidy/walls.ts'

const rootDirectory = new URL('../', import.meta.url)

writeFileSync(new URL('config.default.yaml', rootDirectory), renderDefaultFile())
writeFileSync(new URL('docs/reference/configuration.md', rootDirectory), renderDocument())

writeBetween('docs/reference/command-line.md', 'commands', referenceMarkdown(COMMANDS))
writeBetween('docs/reference/events.md', 'events', eventsMarkdown())
writeBetween('ARCHITECTURE.md', 'walls', wallsMarkdown())

/** Replaces the text between the marks of a page. */
function writeBetween(path: string, name: string, text: string): void {
  const [begin, end] = [`<!-- ${name}: generated -->\n\n`, `\n<!-- ${name}: end -->`]
  const file = new URL(path, rootDirectory)
  const page = readFileSync(file, 'utf8')
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${path} has lost the marks around its generated ${name}`)
  writeFileSync(file, page.slice(0, from + begin.length) + text + page.slice(to))
}
