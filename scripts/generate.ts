// Writes the files that come from src/config/schema.ts. A test fails when they are stale.
import { writeFileSync } from 'node:fs'
import { renderDefaultFile, renderDocument } from '../src/config/render.ts'

const rootDirectory = new URL('../', import.meta.url)

writeFileSync(new URL('config.default.yaml', rootDirectory), renderDefaultFile())
writeFileSync(new URL('docs/configuration.md', rootDirectory), renderDocument())
