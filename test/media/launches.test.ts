import { expect, test } from 'vitest'
import { Launches } from '../../src/media/transcoder/launches.ts'

test('launch numbers always increase; first segment numbers only when playlists restart', () => {
  let nowMs = 1_750_000_000_999
  const launches = new Launches({ now: () => nowMs })
  expect(launches.next('a')).toEqual({ launch: 0, firstNumber: 1_750_000_000 })
  nowMs += 5000
  expect(launches.next('a')).toEqual({ launch: 1, firstNumber: 1_750_000_000 })
  launches.restartNumbers('a')
  expect(launches.next('a')).toEqual({ launch: 2, firstNumber: 1_750_000_005 })
  launches.restartNumbers('b')
  nowMs += 1000
  expect(launches.next('b')).toEqual({ launch: 0, firstNumber: 1_750_000_006 })
})
