import { expect, onTestFinished, test, vi } from 'vitest'
import { liveTokens } from '../../../web/dashboard/src/pages/tokens/operations.ts'

test('all tokens that are live are known as such, however many there are', async () => {
  const all = Array.from({ length: 250 }, (_, id) => ({ id }))
  vi.stubGlobal('document', { baseURI: 'https://live.test/dashboard/' })
  vi.stubGlobal('fetch', async (url: string) => {
    const { searchParams } = new URL(url)
    const [size, page] = [Number(searchParams.get('itemsOnPage')), Number(searchParams.get('page') ?? 1)]
    const data = all.slice(size * (page - 1), size * page)
    return Response.json({ data }, { headers: { 'X-Total-Count': String(all.length) } })
  })
  onTestFinished(() => void vi.unstubAllGlobals())
  expect((await liveTokens('subscribe', new AbortController().signal)).size).toBe(250)
})
