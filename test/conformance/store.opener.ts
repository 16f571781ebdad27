// Opens the store named by the first argument and closes it again; several of these start at once in the tests.
import { openStore } from '../../src/store/open.ts'
import { quiet } from './store.samples.ts'

const store = await openStore({ url: process.argv[2] ?? '', log: quiet })
await store.ping()
await store.close()
