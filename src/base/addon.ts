import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** The build output of `scripts/native.mjs`. */
const FOLDER = fileURLToPath(new URL('../../build/native', import.meta.url))

/**
 * Loads an addon of `native/` by the name of its source. Callers must still prove it. Null when it was not built or
 * does not fit this Node.
 */
export function loadAddon(name: string, folder = FOLDER): unknown {
  try {
    return createRequire(import.meta.url)(`${folder}/${name}-${process.platform}-${process.arch}.node`)
  } catch {
    return null
  }
}
