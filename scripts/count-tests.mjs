// Prints `N passed, N failed` from vitest's reports, as the last line of .ci/run. Fails also if a test was skipped, if a
// file did not load, and if nothing ran, because such a run proves nothing.
//   node scripts/count-tests.mjs build/tests.json build/crash.json
import { readFileSync } from 'node:fs'

const testResults = process.argv.slice(2).flatMap((file) => read(file).testResults)
const { passed, failed, skipped, broken } = count(testResults)

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
