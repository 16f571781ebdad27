import { exportsOf, importsOf } from './imports.ts'
import { finding, type Module } from './source.ts'

/** Files with other users: the exports of the package, and the file that Node starts. */
const PUBLISHED = new Set(['src/sign.ts', 'src/main.ts'])

/** Values that `modules` export and that no module, tests included, imports. Types may be exported as documentation. */
export function unusedExports(modules: readonly Module[], readers: readonly Module[]): string[] {
  const used = new Set(
    [...modules, ...readers].flatMap((reader) =>
      importsOf(reader).flatMap(({ target, names }) => names.map((name) => `${target} ${name}`)),
    ),
  )
  return modules
    .filter(({ path }) => !PUBLISHED.has(path) && !used.has(`${path} *`))
    .flatMap((module) =>
      exportsOf(module)
        .filter(({ name }) => !used.has(`${module.path} ${name}`))
        .map(({ name, start }) => finding(module, start, `${name} is exported but unused`)),
    )
}
