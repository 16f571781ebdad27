import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

/** What vitest's reports say together. */
export interface Counted {
  readonly passed: number
  /** With tests that were skipped, and files that did not load or failed in their hooks: such a run proves nothing. */
  readonly failed: number
  /** What failed, with the begin of its message: the end of a long log may be all that is kept of it. */
  readonly lines: readonly string[]
}

const MESSAGE_LINES = 4

interface TestFile {
  readonly name: string
  readonly status: string
  /** What a hook or the file itself failed with. */
  readonly message?: string
  readonly assertionResults: readonly TestResult[]
}

interface TestResult {
  readonly status: string
  readonly fullName: string
  readonly failureMessages: readonly string[]
}

/** Reads reports of vitest's reporter `json`. One that is missing counts as a failure. */
export function countReports(paths: readonly string[]): Counted {
  const files = paths.flatMap(read)
  const tests = files.flatMap(({ name, assertionResults }) => assertionResults.map((result) => ({ name, ...result })))
  const broken = files.filter(
    ({ status, assertionResults: own }) => status === 'failed' && own.every((one) => one.status === 'passed'),
  )
  const unpassed = tests.filter(({ status }) => status !== 'passed')
  return {
    passed: tests.length - unpassed.length,
    failed: unpassed.length + broken.length,
    lines: [...unpassed.flatMap(described), ...broken.flatMap(describedFile)],
  }
}

function described({ name, status, fullName, failureMessages }: TestResult & { name: string }): string[] {
  const outcome = status === 'failed' ? 'failed' : `${status} (in CI every test runs)`
  return [`${outcome}: ${relative('.', name)}: ${fullName}`, ...failureMessages.flatMap(begunWith)]
}

function describedFile({ name, message = '', assertionResults }: TestFile): string[] {
  const outcome = assertionResults.length === 0 ? 'not a single test ran' : 'failed beside its tests'
  return [`${outcome}: ${relative('.', name)}`, ...begunWith(message)]
}

const begunWith = (message: string): string[] =>
  message === '' ? [] : message.split('\n', MESSAGE_LINES).map((line) => `    ${line}`)

function read(path: string): readonly TestFile[] {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { testResults: TestFile[] }).testResults
  } catch {
    return [{ name: path, status: 'failed', assertionResults: [] }]
  }
}
