import { expect, it } from 'vitest'
import { Handshakes } from '../../../src/media/relay/transport/handshakes.ts'

/** A queue with turns that the test gives; each datagram takes `costMs`. */
function queue(costMs: number) {
  const turns: (() => void)[] = []
  const done: string[] = []
  let nowMs = 0
  const handshakes = new Handshakes({ now: () => nowMs, later: (work) => void turns.push(work) })
  const peer = (name: string) => ({
    receiveDtls(datagram: Buffer) {
      nowMs += costMs
      done.push(`${name}${datagram[0]}`)
    },
  })
  const put = (of: ReturnType<typeof peer>, number: number): void =>
    handshakes.put(of, Buffer.from([number]), { address: '192.0.2.1', port: 1, via: 0 })
  return { peer, put, done, turn: () => turns.shift()?.() }
}

it('works off handshakes in their order, 5 ms in a turn, so that media is read in between', () => {
  const { peer, put, done, turn } = queue(2)
  const [a, b] = [peer('a'), peer('b')]
  for (const number of [1, 2]) for (const one of [a, b]) put(one, number)
  expect(done).toEqual([])
  turn()
  expect(done).toEqual(['a1', 'b1', 'a2'])
  put(a, 3)
  turn()
  expect(done).toEqual(['a1', 'b1', 'a2', 'b2', 'a3'])
  turn()
  expect(done).toHaveLength(5)
})

it('handles one datagram in a turn that costs more, and drops what one peer or all together send beyond a bound', () => {
  const { peer, put, done, turn } = queue(20)
  const [flood, honest] = [peer('f'), peer('h')]
  for (let number = 0; number < 40; number += 1) put(flood, number)
  put(honest, 1)
  for (let left = 40; left > 0; left -= 1) turn()
  expect(done).toHaveLength(17)
  expect(done.at(-1)).toBe('h1')
  const many = Array.from({ length: 100 }, (_, index) => peer(`${index}:`))
  for (const one of many) for (let number = 0; number < 16; number += 1) put(one, number)
  for (let left = 2000; left > 0; left -= 1) turn()
  expect(done).toHaveLength(17 + 1024)
})
