import { finding, type Module, parse, type Source } from './source.ts'

/** A class name of a selector, with its offset. */
interface StyledClass {
  readonly name: string
  readonly start: number
}

/** Classes that a style sheet of `sheets` styles, and that no string of `users` names: no element can have them. */
export function unusedClasses(sheets: readonly Source[], users: readonly Source[]): string[] {
  const named = users.map((user) => (user.path.endsWith('.html') ? namesInPage(user.text) : namesInModule(parse(user))))
  const whole = new Set(named.flatMap(({ names }) => names))
  const begun = new Set(named.flatMap(({ beginnings }) => beginnings))
  // `w${row}` stands for w1, w2 and so on, and `t-${kind}` for all of t-.
  const isBegun = (name: string): boolean =>
    begun.has(name.replace(/\d+$/, '')) || begun.has(name.replace(/[^-]+$/, ''))
  return sheets.flatMap((sheet) =>
    classesOf(sheet)
      .filter(({ name }) => !whole.has(name) && !isBegun(name))
      .map(({ name, start }) => finding(sheet, start, `no element has the class .${name}`)),
  )
}

/** Every class once, where it occurs first. */
function classesOf({ text }: Source): StyledClass[] {
  const rules = text.replace(/\/\*.*?\*\//gs, (comment) => ' '.repeat(comment.length))
  const found = new Map<string, StyledClass>()
  for (const prelude of rules.matchAll(/[^{};]+(?=\{)/g)) {
    if (prelude[0].trim().startsWith('@')) continue
    for (const { 0: written, index } of prelude[0].matchAll(/\.[a-z][\w-]*/gi)) {
      const name = written.slice(1)
      if (!found.has(name)) found.set(name, { name, start: prelude.index + index })
    }
  }
  return [...found.values()]
}

interface Names {
  readonly names: readonly string[]
  /** What a template literal continues with a value. */
  readonly beginnings: readonly string[]
}

const wordsOf = (text: string): string[] => text.split(/\s+/).filter(Boolean)

const namesInPage = (html: string): Names => ({
  names: [...html.matchAll(/\bclass="([^"]*)"/g)].flatMap(([, names = '']) => wordsOf(names)),
  beginnings: [],
})

/** The words of all strings, because a class may come out of a table or a parameter. */
function namesInModule({ nodes }: Module): Names {
  const texts = nodes.flatMap(({ type, value }) => (type === 'Literal' && typeof value === 'string' ? [value] : []))
  const templates = nodes.filter(({ type }) => type === 'TemplateElement')
  const parts = templates.map(({ value, tail }) => ({ text: cookedOf(value), isLast: tail === true }))
  return {
    names: [...texts, ...parts.map(({ text }) => text)].flatMap((text) => [
      ...wordsOf(text),
      ...namesInPage(text).names,
    ]),
    beginnings: parts.flatMap(({ text, isLast }) => (isLast ? [] : text.split(/\s+/).slice(-1))).filter(Boolean),
  }
}

const cookedOf = (value: unknown): string =>
  typeof value === 'object' && value !== null && 'cooked' in value && typeof value.cooked === 'string'
    ? value.cooked
    : ''
