// Opens the store named by the first argument and closes it again; several of these start at once in the tests.
import { openStore } from '../../src/store/open.ts'
import { addLaterMigration } from './store.later.ts'
import { quiet } from './store.samples.ts'

if (process.argv[3] === 'later') addLaterMigration()
const store = await openStore({ url: process.argv[2] ?? '', log: quiet })
await store.ping()
await store.close()
