// Builds build/docs/, the documentation as pages, if it is older than its sources.
//   node scripts/build-docs.mjs [--to FOLDER]   writes plain files for another web server too
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { at } from './compile.mjs'
import { buildWeb, compress, vite } from './build-web.mjs'

const FOLDER = 'build/docs'

/** The first start waits for it. Packages have the best. */
const QUALITY = 8

export const buildDocs = () =>
  buildWeb({
    name: 'docs',
    built: `${FOLDER}/index.html`,
    sources: [
      'docs',
      'web/docs',
      'web/api/reference.css',
      'scripts/docs',
      'src/edge/http/docs/samples.ts',
      'scripts/build-docs.mjs',
      'CHANGELOG.md',
      'SECURITY.md',
      'package.json',
    ],
    steps: [vite('web/docs'), ['scripts/docs/pages.ts']],
    without: '/docs/ answers 503',
    finish: () => compress(FOLDER, filesIn(at(FOLDER)).filter(isText), QUALITY),
  })

/** Compresses the built pages as far as possible, for packages: it takes seconds, and saves a tenth. */
export function compressDocsBest() {
  const compressed = filesIn(at(FOLDER)).filter((name) => name.endsWith('.br'))
  for (const path of compressed) decompress(at(`${FOLDER}/${path}`))
  compress(
    FOLDER,
    compressed.map((path) => path.slice(0, -'.br'.length)),
  )
}

/** The first page stays as it is: it tells that there is a build. */
const isText = (path) => path !== 'index.html' && /\.(html|js|json|css)$/.test(path)

const filesIn = (folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' })

/** Web servers elsewhere know nothing of our compressed form. */
function writePlain(folder) {
  cpSync(at(FOLDER), folder, { recursive: true })
  for (const path of filesIn(folder).filter((name) => name.endsWith('.br'))) decompress(resolve(folder, path))
}

function decompress(file) {
  writeFileSync(file.slice(0, -'.br'.length), brotliDecompressSync(readFileSync(file)))
  rmSync(file)
}

if (process.argv[1] === at('scripts/build-docs.mjs')) {
  await buildDocs()
  if (process.argv[2] === '--to' && process.argv[3]) writePlain(resolve(process.argv[3]))
}
