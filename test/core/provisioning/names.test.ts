import { expect, test } from 'vitest'
import { ProvisionNames } from '../../../src/core/provisioning/names.ts'

test('a thing keeps the name that a file gave it, and others get their labels, numbered where they are taken', () => {
  const names = new ProvisionNames([{ kind: 'channels', name: 'Main-2', resourceId: 'ch_7' }])
  const name = (id: string, label: string) => names.of('channels', id, label)
  expect([name('ch_1', 'Main'), name('ch_7', 'Other'), name('ch_2', 'Main'), name('ch_3', 'Main')]).toEqual([
    'Main',
    'Main-2',
    'Main-3',
    'Main-4',
  ])
  expect([name('ch_4', '__ ü!'), name('ch_5', 'Zoë 1')]).toEqual(['unnamed', 'Zo-1'])
  expect(names.of('schedulers', 'sc_1', 'Main')).toBe('Main')
})
