import { expect, test } from 'vitest'
import { localInputs } from '../../../src/media/ffmpeg/localInputs.ts'

const split = (text: string): string[] => text.split(' ')

test('each input opens pipes and files only, and one that is fed no file', () => {
  expect(localInputs(split('-f matroska -i a -f matroska -i b -f mp4 out'), false)).toEqual(
    split('-f matroska -protocol_whitelist pipe,file -i a -f matroska -protocol_whitelist pipe,file -i b -f mp4 out'),
  )
  expect(localInputs(split('-i pipe:0 -f null -'), true)).toEqual(split('-protocol_whitelist pipe -i pipe:0 -f null -'))
})

test('an input keeps the whitelist that it has', () => {
  expect(localInputs(split('-protocol_whitelist file -f mov -i a -i b out'), false)).toEqual(
    split('-protocol_whitelist file -f mov -i a -protocol_whitelist pipe,file -i b out'),
  )
})
