import { importsOf } from '../../test/tidy/imports.ts'
import { type Module, parse, readSources, type Source } from '../../test/tidy/source.ts'

/**
 * Tests of a room: those beside it, random input, and what every store must do, on SQLite. What starts whole servers takes
 * minutes for each mutant.
 */
const TESTS_OF: readonly (readonly [room: string, tests: readonly string[]])[] = [
  ['src/core/', ['test/core/', 'test/fuzz/']],
  ['src/delivery/', ['test/delivery/']],
  ['src/store/leases/', ['test/system/leases.']],
  ['src/store/', ['test/store/', 'test/conformance/store.sqlite.']],
  ['src/media/relay/', ['test/media/relay/', 'test/fuzz/']],
  ['src/media/rtmp/', ['test/media/rtmp/', 'test/fuzz/']],
]

/** Which test files import a file of src, by values, directly or through others. The nearest come first. */
export function testsByFile(): (path: string) => string[] {
  const importers = new Map<string, string[]>()
  for (const module of readSources(['src', 'test'], /\.ts$/).map(parseImports)) {
    for (const { target, isOurs, typeOnly } of importsOf(module)) {
      if (isOurs && !typeOnly) importers.set(target, [...(importers.get(target) ?? []), module.path])
    }
  }
  return (path) => nearestFirst(path, importers).filter(isTestOf(path))
}

/** An import as the formatter writes it, or what is exported from another module. */
const DECLARATIONS = /^(import|export)( type)? ([\w$*{][^'"`;=()]*? from )?'[^']+'$/gm

/** Of the declarations alone: to parse thousands of whole files takes seconds. */
function parseImports(source: Source): Module {
  if (source.text.includes('import(')) return parse(source)
  return parse({ ...source, text: (source.text.match(DECLARATIONS) ?? []).join('\n') })
}

function nearestFirst(path: string, importers: ReadonlyMap<string, readonly string[]>): string[] {
  const seen = new Set([path])
  // A set goes on over what is added to it on the way.
  for (const one of seen) for (const importer of importers.get(one) ?? []) seen.add(importer)
  return [...seen]
}

const isTestOf = (path: string) => {
  const [, folders = [path.replace(/^src\/(.*)\/.*/, 'test/$1/')]] =
    TESTS_OF.find(([room]) => path.startsWith(room)) ?? []
  return (test: string): boolean => test.endsWith('.test.ts') && folders.some((folder) => test.startsWith(folder))
}
