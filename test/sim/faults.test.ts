import { expect, test } from 'vitest'
import { FAULTS } from './faults.ts'
import { findFault } from './findFault.ts'

const OFTEN = FAULTS.filter(({ isSeldom }) => isSeldom !== true)
/** Worlds for each, from its seed on: a change of sources moves it. */
const WORLDS = 200

test.each(OFTEN)('the worlds find: $name', async (fault) => {
  expect((await findFault(fault, WORLDS))?.said).toMatch(fault.says)
})
