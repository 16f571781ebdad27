import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** The build output of `scripts/native.mjs`. */
const FOLDER = fileURLToPath(new URL('../../build/native', import.meta.url))

/** What takes more processor time without addons (docs/reference/performance.md). */
const PRICES = [
  { names: ['fanout', 'udp'], price: 'two to three times as much for a packet of WebRTC' },
  { names: ['splice'], price: 'more than twice as much for a segment of HLS' },
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
  const remedy = 'Install a C compiler and run `npm run setup`, or use a package that has them'
  return `Native addons are missing, which costs processor time: ${prices}. ${remedy}`
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
