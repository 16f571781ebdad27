import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { countReports } from '../scripts/ci/count.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-reports-'))
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
function reportOf(...testResults: object[]): string {
  const path = join(folder, `${(files += 1)}.json`)
  writeFileSync(path, JSON.stringify({ testResults }))
  return path
}
const file = (name: string, ...statuses: string[]) => ({
  name: join(process.cwd(), name),
  status: statuses.includes('failed') ? 'failed' : 'passed',
  assertionResults: statuses.map((status) => ({
    status,
    fullName: `is ${status}`,
    failureMessages: ['a\nb\nc\nd\ne'],
  })),
})

describe('the last lines of .ci/run', () => {
  test('count the tests of all reports, and name what failed with the begin of its message', () => {
    const reports = [reportOf(file('test/a.test.ts', 'passed', 'failed')), reportOf(file('test/b.test.ts', 'passed'))]
    expect(countReports(reports)).toEqual({
      passed: 2,
      failed: 1,
      lines: ['failed: test/a.test.ts: is failed', '    a', '    b', '    c', '    d'],
    })
  })

  test('take a skipped test, a file without tests, one whose hooks fail and a missing report for failures', () => {
    const skipped = file('test/a.test.ts', 'passed', 'skipped')
    const unread = { name: join(process.cwd(), 'test/b.test.ts'), status: 'failed', assertionResults: [] }
    const left = { ...file('test/c.test.ts', 'passed'), status: 'failed', message: 'it is still open' }
    const counted = countReports([reportOf(skipped, unread, left), join(folder, 'none.json')])
    expect(counted).toMatchObject({ passed: 2, failed: 4 })
    expect(counted.lines).toContain('    it is still open')
    expect(counted.lines.filter((line) => !line.startsWith('    '))).toEqual([
      'skipped (in CI every test runs): test/a.test.ts: is skipped',
      'not a single test ran: test/b.test.ts',
      'failed beside its tests: test/c.test.ts',
      expect.stringContaining('none.json'),
    ])
  })
})
