import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** Where `scripts/native.mjs` puts what it builds. */
const FOLDER = fileURLToPath(new URL('../../build/native', import.meta.url))

/** An addon of `native/`, by the name of its source and not proved yet; null where it was not built or does not fit this Node. */
export function loadAddon(name: string, folder = FOLDER): unknown {
  try {
    return createRequire(import.meta.url)(`${folder}/${name}-${process.platform}-${process.arch}.node`)
  } catch {
    return null
  }
}
