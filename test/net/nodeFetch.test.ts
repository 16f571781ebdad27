import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { nodeFetch } from '../../src/net/nodeFetch.ts'
import { closingNode } from '../support/closingNode.ts'
import { until } from '../support/until.ts'

const get = nodeFetch(systemClock)

test('a request that another node meets with the close of an idle connection is sent again, once', async () => {
  const { port, asked } = await closingNode(1)
  let got = 0
  // Once a connection is used again.
  await until(async () => {
    expect(await get(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 200 })
    got += 1
    return asked() > got
  })
  expect(asked()).toBe(got + 1)
})

test('a node that closes every connection is asked twice', async () => {
  const { port, asked } = await closingNode(0)
  expect(await get(`http://127.0.0.1:${port}/`)).toBe(null)
  expect(asked()).toBe(2)
})
