import { expect, it } from 'vitest'
import { CMCD_MAX, cmcdOfUrl, readCmcd } from '../../../src/core/quality/cmcd.ts'

const NOTHING = { isStarved: false, isUrgent: false, bufferMs: null, kbps: null }

it('reads the keys that say how well it plays, and passes over the others', () => {
  expect(
    readCmcd('bl=21300,br=3200,bs,cid="faec5fc2-ac30-11ea",d=4004,mtp=25400,nor="..%2F300kbps%2Ftrack.m4v",ot=v,su'),
  ).toEqual({
    isStarved: true,
    isUrgent: true,
    bufferMs: 21_300,
    kbps: 25_400,
  })
  expect(readCmcd('sid="a,bs,\\"su\\",bl=7", com.example-x="y", mtp=500')).toEqual({ ...NOTHING, kbps: 500 })
  expect(readCmcd('bs=false,su=true')).toEqual({ ...NOTHING, isUrgent: true })
})

it('takes no value that makes no sense, and no text that is not CMCD', () => {
  expect(readCmcd('bl=-5,mtp=fast')).toEqual(NOTHING)
  expect(readCmcd('bl=999999999999,mtp=999999999999')).toEqual({ ...NOTHING, bufferMs: 600_000, kbps: 10_000_000 })
  expect(readCmcd(`bl=${'9'.repeat(40)}`)).toEqual(NOTHING)
  for (const none of ['', 'sid="open', 'a b', '=7', 'bl==7"', ',']) expect([none, readCmcd(none)]).toEqual([none, null])
  expect(readCmcd(`sid="${'x'.repeat(CMCD_MAX)}"`)).toBeNull()
})

it('finds the parameter of an address', () => {
  expect(cmcdOfUrl('/hls/~t/s/v0/1.m4s?CMCD=bl%3D100%2Cbs')).toBe('bl=100,bs')
  expect(cmcdOfUrl('/hls/~t/s/v0/media.m3u8?_HLS_msn=7&CMCD=su&x=1')).toBe('su')
  for (const none of ['/a', '/CMCD=bs', '/a?XCMCD=bs', '/a?CMCD=%', `/a?CMCD=${'x'.repeat(3073)}`])
    expect([none, cmcdOfUrl(none)]).toEqual([none, null])
})
