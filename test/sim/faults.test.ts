import { expect, test } from 'vitest'
import { FAULTS } from './faults.ts'
import { findFault } from './findFault.ts'

/** Worlds for each fault, from its seed on. Most changes of sources move the seed by a few. */
const WORLDS = 200

test.concurrent.each(FAULTS)('the worlds find: $name', async (fault) => {
  expect((await findFault(fault, WORLDS))?.said).toContain(fault.says)
})
