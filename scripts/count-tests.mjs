// Prints what failed, what passed at a second try, and `N passed, N failed` from vitest's reports, as the last lines of
// .ci/run. Fails also if a test was skipped, if a file did not load, and if nothing ran, because such a run proves nothing.
//   node scripts/count-tests.mjs build/tests.json build/crash.json
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

/** Of the message of a failed test: the end of a long log may be all that is kept of it. */
const MESSAGE_LINES = 4

const testResults = process.argv.slice(2).flatMap((file) => read(file).testResults)
const { passed, failed, skipped, broken } = count(testResults)

for (const { name, assertionResults } of testResults) {
  for (const { status, fullName, failureMessages } of assertionResults) {
    if (status !== 'failed' && failureMessages.length === 0) continue
    const outcome = status === 'passed' ? 'passed at a second try' : status
    console.log(`${outcome}: ${relative('.', name)}: ${fullName}`)
    const lines = failureMessages.flatMap((message) => message.split('\n').slice(0, MESSAGE_LINES))
    for (const line of lines) console.log(`    ${line}`)
  }
}
if (skipped > 0) console.log(`${skipped} skipped: in CI every test runs`)
for (const name of broken) console.log(`not a single test ran: ${name}`)
console.log(`${passed} passed, ${failed + broken.length} failed`)
process.exitCode = passed > 0 && failed + skipped + broken.length === 0 ? 0 : 1

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    console.log(`there is no report: ${error.message}`)
    return { testResults: [{ status: 'failed', assertionResults: [], name: path }] }
  }
}

function count(testResults) {
  const statuses = testResults.flatMap(({ assertionResults }) => assertionResults.map(({ status }) => status))
  const passed = statuses.filter((status) => status === 'passed').length
  const failed = statuses.filter((status) => status === 'failed').length
  const broken = testResults
    .filter(({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0)
    .map(({ name }) => name)
  return { passed, failed, skipped: statuses.length - passed - failed, broken }
}
