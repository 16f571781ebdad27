// The next version of Sluice: this one with another migration.
import { addWideMigration } from '../conformance/store.later.ts'

addWideMigration()
await import('../../src/main.ts')
