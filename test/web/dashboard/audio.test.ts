import { afterEach, expect, test, vi } from 'vitest'
import { openAudio } from '../../../web/dashboard/src/broadcast/audio.ts'

afterEach(() => vi.unstubAllGlobals())

test('audio of a page that was opened by its address begins with the first click, and listens for none after its end', () => {
  const resume = vi.fn(() => Promise.resolve())
  const close = vi.fn(() => Promise.resolve())
  vi.stubGlobal(
    'AudioContext',
    class {
      resume = resume
      close = close
    },
  )
  const page = new EventTarget()
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))

  openAudio()
  page.dispatchEvent(new Event('click'))
  page.dispatchEvent(new Event('click'))
  expect(resume).toHaveBeenCalledTimes(1)

  openAudio().close()
  page.dispatchEvent(new Event('click'))
  expect([resume.mock.calls.length, close.mock.calls.length]).toEqual([1, 1])
})
