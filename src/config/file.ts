import { readFileSync, statSync } from 'node:fs'
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
} from 'yaml'
import { fileProblem } from '../base/errorCode.ts'
import { err, ok, type Result } from '../base/result.ts'
import { ALIAS } from './keys.ts'
import { type Branch, type Reading, readTree } from './tree.ts'

/** All keys with their sentences fit into 10 KiB. A file near this limit is the wrong file. */
export const MAX_FILE_BYTES = 256 * 1024

/** Reads a configuration file. All errors are returned as problems. */
export function readConfigFile(file: string): Reading {
  const text = readText(file)
  return text.ok ? readYaml(text.value, file) : whole(file, text.error)
}

/** Parses configuration text; `file` names it in problems. Never throws, and never expands an alias. */
export function readYaml(text: string, file: string): Reading {
  const lines = new LineCounter()
  const parsed = parse(text, lines)
  if (!parsed.ok) return whole(file, parsed.error)
  const at = (offset: number) => `${file}:${lines.linePos(offset).line}`
  const faults = [...parsed.value.errors, ...parsed.value.warnings]
  if (faults.length > 0) {
    const problems = faults.map((fault) => ({ key: '', source: at(fault.pos[0]), reason: withoutQuote(fault.message) }))
    return { settings: [], problems }
  }
  return readDocument(parsed.value, at, file)
}

function readDocument(document: Document.Parsed, at: (offset: number) => string, file: string): Reading {
  const { contents } = document
  // A file that contains only comments is valid and empty.
  if (contents === null || (isScalar(contents) && contents.value === null)) return { settings: [], problems: [] }
  if (!isMap(contents)) return whole(file, 'is not a list of keys such as `server:`')
  return readTree(branchesOf(contents.items, at))
}

function branchesOf(pairs: readonly Pair[], at: (offset: number) => string): Branch[] {
  return pairs.map(({ key, value }) => {
    const source = at(isNode(key) ? (key.range?.[0] ?? 0) : 0)
    const branches = isMap(value) ? branchesOf(value.items, at) : undefined
    return { name: nameOf(key), source, branches, value: valueOf(value) }
  })
}

const nameOf = (key: unknown): string => (isScalar(key) ? String(key.value) : 'a name that is no text')

/** The plain value of a node. A section becomes an object, which no key accepts. */
function valueOf(node: unknown): unknown {
  if (isAlias(node)) return ALIAS
  if (isSeq(node)) return node.items.map((item) => (isSeq(item) ? [] : valueOf(item)))
  if (isScalar(node)) return node.value
  return node === null ? null : {}
}

function parse(text: string, lineCounter: LineCounter): Result<Document.Parsed, string> {
  try {
    // The tree reader finds duplicate names, in linear time and with our messages.
    const options = { lineCounter, uniqueKeys: false, prettyErrors: false, schema: 'core', stringKeys: false } as const
    return ok(parseDocument<Node>(text, options) as Document.Parsed)
  } catch (cause) {
    // The parser is recursive: thousands of opening brackets end in a RangeError.
    return err(`cannot be read as YAML (${firstLine(String(cause))})`)
  }
}

function readText(file: string): Result<string, string> {
  try {
    const about = statSync(file)
    const { size } = about
    if (size === 0 && about.isFile())
      return err('is empty, as after a write that was broken off; give it a setting, or a comment')
    if (size > MAX_FILE_BYTES) return err(`is ${size} bytes long; ${MAX_FILE_BYTES} is the most`)
    return ok(new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file)))
  } catch (cause) {
    return err(cause instanceof TypeError ? 'is not UTF-8 text' : fileProblem(cause))
  }
}

/** The parser's messages quote the file after a colon, and the unreadable text may be half of a password. */
const withoutQuote = (message: string): string => firstLine(message).split(': ')[0] ?? ''

const firstLine = (message: string): string => (message.split('\n')[0] ?? '').slice(0, 200)

const whole = (file: string, reason: string): Reading => ({
  settings: [],
  problems: [{ key: '', source: file, reason }],
})
