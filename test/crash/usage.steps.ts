// Works on the sums of bytes, and is killed before one of its statements:
//   node usage.steps.ts STORE fold|forget|prune ACCOUNT NODE STATEMENT
// Ends with 0 when it was done before that statement came.
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { Client } from 'pg'
import { openStore } from '../../src/store/open.ts'
import type { Tx } from '../../src/store/store.ts'
import { quiet } from '../conformance/store.samples.ts'

const [url = '', what = '', accountId = '', node = '', statement = ''] = process.argv.slice(2)
const STEPS: Readonly<Record<string, (tx: Tx) => Promise<number>>> = {
  fold: (tx) => tx.usage.foldNode(node, 4),
  forget: (tx) => tx.viewerTraces.forgetUsage(accountId, 'forgotten', 3),
  prune: (tx) => tx.usage.prune(Number.MAX_SAFE_INTEGER, 3),
}
const step = STEPS[what]
if (step === undefined) throw new Error(`there is no step ${what}`)

const store = await openStore({ url, log: quiet })
let left = Number(statement)
killBefore(StatementSync.prototype, ['run', 'all', 'get'])
killBefore(DatabaseSync.prototype, ['exec'])
killBefore(Client.prototype, ['query'])
while ((await store.transaction(step)) > 0);
process.exit()

/** Counts the calls of these methods, and kills this process before the one that is its last. */
function killBefore<K extends string>(of: Record<K, (...input: never[]) => unknown>, names: readonly K[]): void {
  for (const name of names) {
    const call = of[name]
    of[name] = function (this: unknown, ...input) {
      left -= 1
      if (left < 0) process.kill(process.pid, 'SIGKILL')
      return call.apply(this, input)
    }
  }
}
