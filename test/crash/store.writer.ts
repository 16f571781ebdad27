// Writes until it is killed. Waits for a line on stdin with the account to write for, so that it can be started ahead of
// its turn, then opens the stores named by the arguments and acknowledges each committed transaction on stdout.
import { writeSync } from 'node:fs'
import { once } from 'node:events'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { auditRow, newToken, quiet } from '../conformance/store.samples.ts'

const WRITERS = 8
const STDOUT = 1

const [line] = (await once(process.stdin, 'data')) as [Buffer]
const accountId = line.toString().trim()

const stores = await Promise.all(process.argv.slice(2).map((url) => openStore({ url, log: quiet })))
await Promise.all(
  stores.flatMap((store, at) => Array.from({ length: WRITERS }, (_, writer) => writeForever(store, at, writer))),
)

async function writeForever(store: Store, at: number, writer: number): Promise<never> {
  for (let n = 0; ; n += 1) {
    const key = `${writer}-${n}`
    await write(store, key)
    // Synchronous, so that the acknowledgement is in the pipe before a kill.
    writeSync(STDOUT, `${at} ${key}\n`)
  }
}

/** Three rows in three tables that must be there together or not at all. */
async function write(store: Store, key: string): Promise<void> {
  await store.transaction(async (tx) => {
    const token = await tx.tokens.insert(newToken({ accountId, label: key }))
    await tx.audit.append(auditRow(accountId, key))
    const event = { accountId, type: 'feeds', event: 'test', subject: key, data: '{}', createdAtMs: token.addedAtMs }
    await tx.outbox.append(event)
  })
}
