// Writes what comes from src/config/schema.ts and from src/core/webhooks/events.ts. A test fails when it is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { renderDefaultFile, renderDocument } from '../src/config/render.ts'
import { eventsMarkdown } from '../src/core/webhooks/eventsTable.ts'

const rootDirectory = new URL('../', import.meta.url)

writeFileSync(new URL('config.default.yaml', rootDirectory), renderDefaultFile())
writeFileSync(new URL('docs/configuration.md', rootDirectory), renderDocument())

const webhooks = new URL('docs/webhooks.md', rootDirectory)
const [BEGIN, END] = ['<!-- events: generated -->\n\n', '\n<!-- events: end -->']
const page = readFileSync(webhooks, 'utf8')
const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)]
if (from < 0 || to < from) throw new Error('docs/webhooks.md has lost the marks around its table of events')
writeFileSync(webhooks, page.slice(0, from + BEGIN.length) + eventsMarkdown() + page.slice(to))
