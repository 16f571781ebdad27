import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** The build output of `scripts/native.mjs`. */
const FOLDER = fileURLToPath(new URL('../../build/native', import.meta.url))

/** What takes more processor time without addons (docs/reference/performance.md). */
const PRICES = [
  { names: ['fanout', 'udp'], price: 'a packet of WebRTC takes two to three times the processor time' },
  { names: ['splice'], price: 'a segment of HLS takes more than twice of it' },
] as const

/**
 * What it costs that addons were not built or do not fit this Node, and what to do; null: all are there. On other systems than
 * Linux there are none.
 */
export function addonProblem(load: typeof loadAddon = loadAddon): string | null {
  if (process.platform !== 'linux') return null
  const missing = PRICES.filter(({ names }) => names.some((name) => load(name) === null))
  if (missing.length === 0) return null
  const prices = missing.map(({ price }) => price).join(', and ')
  return `Native addons are missing: ${prices}. Install a C compiler and run \`npm run setup\`, or use a package that has them`
}

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
