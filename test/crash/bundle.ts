import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

/** How many processes are killed: few in `npm test`, because every round starts a process; CI asks for 200 besides. */
export const ROUNDS = Number(process.env['CRASH_ROUNDS'] ?? 8)

/** For all rounds: at eight the limit of the project, as long as a slow machine may need. */
export const ROUNDS_TIMEOUT_MS = Math.max(8, ROUNDS) * 15_000

/** The version is read from a file whose place a bundle does not know. */
const constantVersion = {
  name: 'version',
  load: (id: string) => (id.endsWith('/src/base/version.ts') ? "export const VERSION = '0.0.0'" : undefined),
}

/**
 * Bundles a program of this folder into a few small files, which start in a third of the time: a round is mostly the start
 * of a process, and that is mostly reading its source. The extension marks it as a module, because Node would otherwise
 * read it twice to find out. Returns the path of the bundle.
 */
export async function bundle(program: string, outDir: string): Promise<string> {
  const entry = fileURLToPath(new URL(program, import.meta.url))
  const ssr = { noExternal: true as const, external: ['pg-native'] }
  await build({
    configFile: false,
    logLevel: 'error',
    ssr,
    plugins: [constantVersion],
    build: { ssr: entry, outDir, target: 'node24', minify: true },
  })
  await writeFile(join(outDir, 'package.json'), '{"type":"module"}')
  return join(outDir, basename(program, '.ts').concat('.js'))
}
