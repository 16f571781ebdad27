import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { helpAt, NAV_ITEMS } from '../../../web/dashboard/src/navigation.ts'

it('each part of the dashboard leads to a page of the documentation that exists', () => {
  const paths = [...NAV_ITEMS.map(({ path }) => path), '/live', '/anything']
  const missing = paths.filter((path) => {
    const page = helpAt(path).replace('../docs/', '../../../docs/').replace('.html', '.md')
    return !existsSync(new URL(page, import.meta.url))
  })
  expect(missing).toEqual([])
})
