import { Compile } from 'typebox/compile'
import { describe, expect, it } from 'vitest'
import { NO_DEFAULTS } from '../../../src/core/tokens/accountDefaults.ts'
import { ownFields, toListedRecord, toTokenRecord, withDefaults } from '../../../src/core/tokens/record.ts'
import { PublishTokenRecord, StreamEntrySchema, SubscribeTokenRecord } from '../../../src/core/tokens/recordSchema.ts'
import { aToken } from './samples.ts'

const VALUE = '0f'.repeat(32)
const context = { 'StreamEntry#': StreamEntrySchema }

describe('the record of a token', () => {
  it('omits unset fields, in the order of the API', () => {
    expect(Object.keys(toTokenRecord(aToken(), VALUE))).toEqual([
      'id',
      'label',
      'name',
      'token',
      'addedOn',
      'isActive',
      'streams',
      'allowedOrigins',
      'allowedIpAddresses',
      'allowedCountries',
      'deniedCountries',
      'originCluster',
      'effectiveSettings',
      'subscribeRequiresAuth',
      'record',
      'enableThumbnails',
      'multisource',
      'enableUTCInsertion',
      'transcode',
      'displaySrtPassphrase',
      'clip',
      'lowLatencyRtmp',
      'integrationId',
      'drm',
      'encoderProfileId',
      'geoCascade',
      'restream',
      'endSessionsOnUpdate',
      'endAtExpiry',
    ])
  })

  it('shows features that are not built as off, so that clients can read them unchecked', () => {
    const geoCascade = { isEnabled: false, clusters: [] }
    expect(toTokenRecord(aToken(), VALUE)).toMatchObject({
      clip: false,
      lowLatencyRtmp: true,
      enableUTCInsertion: false,
      integrationId: 'None',
      drm: false,
      geoCascade,
      encoderProfileId: null,
      originCluster: '',
      effectiveSettings: { originCluster: 'auto', geoCascade, enableUTCInsertion: false },
    })
    expect(toTokenRecord(aToken({ kind: 'subscribe' }), VALUE)).toMatchObject({
      originCluster: '',
      effectiveSettings: { originCluster: 'auto' },
    })
  })

  it('shows the region of publishers: its own, or that of its account', () => {
    const effective = (originCluster: string, defaultCluster = 'auto') =>
      withDefaults(toTokenRecord(aToken({ originCluster }), VALUE), { ...NO_DEFAULTS, defaultCluster })
    expect(effective('', 'north')).toMatchObject({ originCluster: '', effectiveSettings: { originCluster: 'north' } })
    expect(effective('auto', 'north')).toMatchObject({ effectiveSettings: { originCluster: 'auto' } })
    expect(effective('south', 'north')).toMatchObject({ effectiveSettings: { originCluster: 'south' } })
    const viewer = toTokenRecord(aToken({ kind: 'subscribe' }), VALUE)
    expect(withDefaults(viewer, { ...NO_DEFAULTS, defaultCluster: 'north' })).toEqual(viewer)
  })

  it('shows every set field of a publish token', () => {
    const token = aToken({
      expiresAtMs: Date.UTC(2027, 0, 1, 0, 0, 0, 5),
      bindIpsOnUsage: 2,
      priority: 0,
      allowedCountries: ['NL'],
    })
    expect(toTokenRecord(token, VALUE)).toMatchObject({
      id: 7,
      label: 'Studio',
      name: 'Studio',
      token: VALUE,
      addedOn: '2026-01-31T09:30:00.000Z',
      expiresOn: '2027-01-01T00:00:00.005Z',
      bindIpsOnUsage: 2,
      priority: 0,
      effectiveSettings: { allowedCountries: ['NL'], deniedCountries: [] },
    })
  })

  it('has the passphrase for SRT if the token displays it, and no list without values has it', () => {
    const token = aToken({ displaySrtPassphrase: true })
    expect(toTokenRecord(token, VALUE, 'a-passphrase')).toMatchObject({
      displaySrtPassphrase: true,
      srtPassphrase: 'a-passphrase',
    })
    expect(toListedRecord(token)).toMatchObject({ displaySrtPassphrase: true })
    expect(toListedRecord(token)).not.toHaveProperty('srtPassphrase')
  })

  it('shows tracking, and none of the publish fields, of a subscribe token', () => {
    const record = toTokenRecord(aToken({ kind: 'subscribe', trackingId: 't' }), VALUE)
    expect(record).toMatchObject({ tracking: { trackingId: 't' }, endSessionsOnUpdate: true, endAtExpiry: false })
    for (const name of ['record', 'multisource', 'priority', 'subscribeRequiresAuth', 'restream']) {
      expect(record).not.toHaveProperty(name)
    }
  })

  it('contains no other stored field', () => {
    const stored = { ...aToken(), valueHash: 'hash', valueSealed: 'sealed' }
    expect(JSON.stringify(toTokenRecord(stored, VALUE))).not.toMatch(/hash|sealed|a1b2c3/)
  })

  it('differs from that of another token only in its own fields', () => {
    const publish = toTokenRecord(aToken({ priority: 0 }), VALUE)
    const own = Object.keys(ownFields(publish))
    expect(own).toEqual([
      'id',
      'label',
      'name',
      'token',
      'addedOn',
      'isActive',
      'streams',
      'allowedOrigins',
      'allowedIpAddresses',
      'allowedCountries',
      'deniedCountries',
      'subscribeRequiresAuth',
      'record',
      'enableThumbnails',
      'multisource',
      'enableUTCInsertion',
      'transcode',
      'displaySrtPassphrase',
      'geoCascade',
      'restream',
      'priority',
      'endSessionsOnUpdate',
      'endAtExpiry',
    ])
    expect(ownFields(publish)).toMatchObject({ id: 7, priority: 0, token: VALUE })
  })

  it('matches the published schemas', () => {
    const full = { expiresAtMs: 1, bindIpsOnUsage: 1, maxViewers: 1, priority: 1, recordingDays: 0, trackingId: 't' }
    const publish = Compile(context, PublishTokenRecord)
    const subscribe = Compile(context, SubscribeTokenRecord)
    for (const changes of [{}, full]) {
      expect(publish.Errors(toTokenRecord(aToken(changes), VALUE))).toEqual([])
      expect(subscribe.Errors(toTokenRecord(aToken({ ...changes, kind: 'subscribe' }), VALUE))).toEqual([])
    }
    expect(publish.Errors(toTokenRecord(aToken(), VALUE, 'a-passphrase'))).toEqual([])
    expect(publish.Check({ ...toTokenRecord(aToken(), VALUE), secret: 1 })).toBe(false)
  })
})
