// Bundles src/ into dist/ for packages and for `npm start`: Node loads sixty files in two thirds of the time that 1,400
// take. Names stay as they are, and the code has lines, so that traces of the stack can be read.
import { mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { build, minifySync } from 'vite'
import { at } from './compile.mjs'

/** What build-sign.mjs and build-client.mjs write into dist/. */
const LIBRARIES = ['client', 'sign.js', 'sign.d.ts']

/** Programs by their places in src/ and dist/, without the extension: of the process, of others that it starts, of threads. */
const PROGRAMS = [
  'main',
  'media/relay/processes/process',
  'store/leases/thread',
  'store/backup/thread',
  'store/sqlite/inspection/thread',
  'store/sqlite/reports/thread',
]

const BUNDLE = 'program'

/** Packages of hundreds of files, of which Sluice needs a part: the bundle has it. npm installs all others. */
export const BUNDLED = ['kysely', 'typebox']

/**
 * Writes dist/ anew, so that nothing stays of a source that is gone. Tests have a folder of their own.
 *
 * @throws when a source cannot be bundled
 */
export async function buildProgram(dist = at('dist')) {
  const begunAt = new Date()
  const made = join(dist, `${BUNDLE}-${process.pid}`)
  mkdirSync(made, { recursive: true })
  await build({
    root: at('.'),
    configFile: false,
    publicDir: false,
    logLevel: 'warn',
    ssr: { noExternal: BUNDLED },
    plugins: [keepPlaces(), compactPackages(), withoutIndents(), escapeWide()],
    build: {
      ssr: true,
      target: 'node24',
      outDir: made,
      minify: false,
      license: { fileName: 'licenses.md' },
      rolldownOptions: {
        input: Object.fromEntries(PROGRAMS.map((program) => [bundled(program), at(`src/${program}.ts`)])),
        experimental: { attachDebugInfo: 'none' },
        external: (id) => !/^[./]/.test(id) && !isBundled(id),
        output: { entryFileNames: '[name].js', chunkFileNames: '[name].js', comments: false },
      },
    },
  })
  const stale = readdirSync(dist).filter((name) => !LIBRARIES.includes(name) && join(dist, name) !== made)
  for (const name of stale) rmSync(join(dist, name), { recursive: true })
  renameSync(made, join(dist, BUNDLE))
  for (const program of PROGRAMS) writeStarter(dist, program)
  // What changes during a build makes it stale.
  utimesSync(join(dist, 'main.js'), begunAt, begunAt)
}

const isBundled = (id) => BUNDLED.some((name) => id === name || id.startsWith(`${name}/`))

const bundled = (program) => program.replaceAll('/', '-')

/** A program is started beside the module that starts it (src/base/programBeside.ts). */
function writeStarter(dist, program) {
  const path = join(dist, `${program}.js`)
  const target = relative(dirname(path), join(dist, BUNDLE, `${bundled(program)}.js`)).replaceAll('\\', '/')
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `import '${target.startsWith('.') ? target : `./${target}`}'\n`)
}

/** Modules look for files from where they are. In the bundle, that is where they would be in dist/ without one. */
const keepPlaces = () => ({
  name: 'keep-places',
  transform: (code, id) =>
    code.includes('import.meta.url')
      ? code.replaceAll('import.meta.url', `new URL('../${placeOf(id)}', import.meta.url).href`)
      : null,
})

/** A trace of the stack leads through the bundled packages at most: their local names and their lines are no loss. */
const compactPackages = () => ({
  name: 'compact-packages',
  transform: (code, id) => (id.includes('/node_modules/') ? { code: minifySync(id, code).code } : null),
})

/** Lines begin without the tabs that the bundler puts there: a tenth of the text, which V8 keeps in memory. */
const withoutIndents = () => ({
  name: 'without-indents',
  enforce: 'pre',
  transform: (code, id) => {
    if (INDENT.test(code)) throw new Error(`${id} has a line that begins with a tab, which may be in a string`)
  },
  generateBundle: (_options, bundle) => {
    for (const chunk of Object.values(bundle))
      if (chunk.type === 'chunk') chunk.code = chunk.code.replaceAll(INDENTS, '')
  },
})

const INDENT = /^\t/m
const INDENTS = /^\t+/gm

/** V8 keeps the text of a file with one character above U+00FF in two bytes for each: it was a megabyte. */
const escapeWide = () => ({
  name: 'escape-wide',
  generateBundle: (_options, bundle) => {
    for (const chunk of Object.values(bundle))
      if (chunk.type === 'chunk') chunk.code = chunk.code.replaceAll(WIDE, escaped)
  },
})

const WIDE = /[^\0-\xff]/g
const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

const placeOf = (id) => relative(at('src'), id).replaceAll('\\', '/').replace(/\.ts$/, '.js')

if (process.argv[1] === at('scripts/build-program.mjs')) await buildProgram(process.argv[2])
