import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Document, isMap, isScalar, LineCounter, parseDocument, type Pair, type YAMLMap } from 'yaml'
import { quote } from '../base/quote.ts'
import { err, ok, type Result } from '../base/result.ts'
import { labelOf } from '../core/provisioning/names.ts'
import {
  PROVISION_KINDS,
  type ProvisionItem,
  type ProvisionKind,
  type ProvisionProblem,
  SINGLE_KINDS,
} from '../core/provisioning/types.ts'
import type { Environment } from '../config/environment.ts'
import { SecretReader } from './provisionSecrets.ts'

const MAX_FILES = 100
const MAX_FILE_BYTES = 16 * 1024 * 1024
const MAX_ITEMS = 10_000
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/
/** The setting of a secret that the operator chose. */
const SECRET_SETTINGS: Partial<Record<ProvisionKind, string>> = {
  publishTokens: 'value',
  subscribeTokens: 'value',
  webhooks: 'secret',
  channelWebhooks: 'secret',
}

export interface ProvisionFiles {
  /** The account that the files name; undefined: none. */
  readonly account: string | undefined
  readonly items: readonly ProvisionItem[]
}

/** Reads `*.yaml` and `*.yml` of a folder in the order of their names. Problems name file, line and what is allowed. */
export function readProvisionFolder(folder: string, env: Environment): Result<ProvisionFiles, ProvisionProblem[]> {
  const names = namesIn(folder)
  if (!names.ok) return err([{ location: folder, message: names.error }])
  const files = names.value.map((name) => new ProvisionFile(join(folder, name), env))
  const problems = files.flatMap((file) => file.problems)
  const items = files.flatMap((file) => file.items)
  const accounts = new Set(files.flatMap(({ account }) => account ?? []))
  if (accounts.size > 1)
    problems.push({ location: folder, message: 'the files name different accounts; one folder is for one account' })
  if (items.length > MAX_ITEMS)
    problems.push({ location: folder, message: `has ${items.length} things; ${MAX_ITEMS} is the most` })
  problems.push(...repeated(items))
  return problems.length > 0 ? err(problems) : ok({ account: [...accounts][0], items })
}

function namesIn(folder: string): Result<string[], string> {
  try {
    const names = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name) && !name.startsWith('.'))
    return names.length > MAX_FILES ? err(`has ${names.length} files; ${MAX_FILES} is the most`) : ok(names.sort())
  } catch (cause) {
    return err(`cannot be read (${(cause as Error).message})`)
  }
}

function repeated(items: readonly ProvisionItem[]): ProvisionProblem[] {
  const seen = new Map<string, ProvisionItem>()
  return items.flatMap((item) => {
    const key = labelOf(item)
    const first = seen.get(key)
    seen.set(key, first ?? item)
    return first === undefined
      ? []
      : [{ location: item.locationOf(''), message: `${key} is in ${first.locationOf('')} already` }]
  })
}

class ProvisionFile {
  readonly problems: ProvisionProblem[] = []
  readonly items: ProvisionItem[] = []
  account: string | undefined
  readonly #file: string
  readonly #secrets: SecretReader
  readonly #lines = new LineCounter()

  constructor(file: string, env: Environment) {
    this.#file = file
    this.#secrets = new SecretReader(env)
    const text = this.#read()
    if (text === null) return
    const document = this.#parse(text)
    if (document !== null) this.#sections(document)
  }

  #read(): string | null {
    try {
      const { size } = statSync(this.#file)
      if (size <= MAX_FILE_BYTES) return readFileSync(this.#file, 'utf8')
      this.#problem(null, `is ${size} bytes long; ${MAX_FILE_BYTES} is the most`)
    } catch (cause) {
      this.#problem(null, `cannot be read (${(cause as Error).message})`)
    }
    return null
  }

  #parse(text: string): Document | null {
    try {
      const document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false, schema: 'core' })
      // Their messages may quote the file, and what cannot be read may be a secret.
      for (const { pos, code } of document.errors) this.#problem(pos[0], `cannot be read as YAML (${code})`)
      return document.errors.length === 0 ? document : null
    } catch {
      this.#problem(null, 'cannot be read as YAML')
      return null
    }
  }

  #sections(document: Document): void {
    const { contents } = document
    if (contents === null || (isScalar(contents) && contents.value === null)) return
    if (!isMap(contents)) return this.#problem(0, `is not a list of ${PROVISION_KINDS.join(', ')}`)
    for (const pair of contents.items) this.#section(document, pair)
  }

  #section(document: Document, pair: Pair): void {
    const name = nameOf(pair)
    const kind = PROVISION_KINDS.find((one) => one === name)
    const { value } = pair
    if (name === 'account' && isScalar(value)) this.account = String(value.value)
    else if (kind === undefined) {
      const allowed = ['account', ...PROVISION_KINDS].join(', ')
      this.#problem(at(pair), `${quote(name)} is not known; here are: ${allowed}`)
    } else if (SINGLE_KINDS.has(kind)) this.#thing(document, { kind, name: '' }, pair)
    else if (isMap(value)) for (const item of value.items) this.#item(document, kind, item)
    else if (!isScalar(value) || value.value !== null) this.#problem(at(pair), `${kind} is not a section of names`)
  }

  #item(document: Document, kind: ProvisionKind, pair: Pair): void {
    const name = nameOf(pair)
    if (NAME.test(name)) this.#thing(document, { kind, name }, pair)
    else this.#problem(at(pair), `${quote(name)} is no name of 1 to 64 letters, digits and . _ -`)
  }

  #thing(document: Document, thing: Pick<ProvisionItem, 'kind' | 'name'>, pair: Pair): void {
    const { kind } = thing
    const label = labelOf(thing)
    if (!isMap(pair.value)) return this.#problem(at(pair), `${label} is not a section of settings`)
    const settings = this.#settings(document, pair.value, at(pair))
    if (settings === null) return undefined
    const resolved = this.#secrets.resolve(settings)
    const steps = thing.name === '' ? [kind] : [kind, thing.name]
    const locationOf = (path: string) => this.#location(document, [...steps, ...stepsOf(path)])
    for (const { path, message } of resolved.problems) {
      this.problems.push({ location: locationOf(path), message: `${label}.${path}: ${message}` })
    }
    const { [SECRET_SETTINGS[kind] ?? '']: secret, ...body } = resolved.value
    if (secret !== undefined && typeof secret !== 'string') {
      return this.#problem(at(pair), `${label}.${SECRET_SETTINGS[kind]} is not text`)
    }
    this.items.push({ ...thing, body, secret: secret ?? null, hidden: resolved.hidden, locationOf })
    return undefined
  }

  /** An alias could make a small file large, so none is expanded. */
  #settings(document: Document, map: YAMLMap, offset: number): Record<string, unknown> | null {
    try {
      return map.toJS(document, { maxAliasCount: 0 }) as Record<string, unknown>
    } catch {
      this.#problem(offset, 'has an alias; write each value where it applies')
      return null
    }
  }

  /** The line of the deepest part of a path that the file has. */
  #location(document: Document, steps: readonly (string | number)[]): string {
    for (let length = steps.length; length > 0; length--) {
      const node = document.getIn(steps.slice(0, length), true) as { range?: [number, number, number] } | undefined
      if (node?.range) return `${this.#file}:${this.#lines.linePos(node.range[0]).line}`
    }
    return this.#file
  }

  #problem(offset: number | null, message: string): void {
    const line = offset === null ? '' : `:${this.#lines.linePos(offset).line}`
    this.problems.push({ location: `${this.#file}${line}`, message })
  }
}

const nameOf = ({ key }: Pair): string => (isScalar(key) ? String(key.value) : '')

const at = ({ key }: Pair): number => (key as { range?: [number, number, number] }).range?.[0] ?? 0

/** `streams[0].streamName` as steps into a document. */
const stepsOf = (path: string): (string | number)[] =>
  (path.match(/[^.[\]]+/g) ?? []).map((step) => (/^\d+$/.test(step) ? Number(step) : step))
