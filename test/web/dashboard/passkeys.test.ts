import { expect, test } from 'vitest'
import {
  answerOf,
  base64urlOf,
  bytesOf,
  creationOptionsOf,
  requestOptionsOf,
} from '../../../web/dashboard/src/passkeys/json.ts'
import { obstacleIn } from '../../../web/dashboard/src/passkeys/obstacle.ts'

const every = Uint8Array.from({ length: 256 }, (_, byte) => byte)

test('base64url goes both ways for every byte and every length of the last group', () => {
  for (const length of [0, 1, 2, 3, 256]) {
    const bytes = every.slice(256 - length)
    const text = Buffer.from(bytes).toString('base64url')
    expect(base64urlOf(bytes.buffer)).toBe(text)
    expect(bytesOf(text)).toEqual(bytes)
  }
  expect(() => bytesOf('not base64url!')).toThrow()
})

test('the options of the server become those of the browser, bytes in place of text', () => {
  const creation = creationOptionsOf({
    rp: { name: 'Sluice', id: 'tv.example.com' },
    user: { id: 'AQI', name: 'ann@example.com', displayName: '' },
    challenge: '_-8',
    pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
    timeout: 60_000,
    excludeCredentials: [{ id: 'AA', type: 'public-key', transports: ['usb'] }],
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    attestation: 'none',
    extensions: { credProps: true },
  })
  expect(creation).toEqual({
    rp: { name: 'Sluice', id: 'tv.example.com' },
    user: { id: Uint8Array.of(1, 2), name: 'ann@example.com', displayName: '' },
    challenge: Uint8Array.of(255, 239),
    pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
    timeout: 60_000,
    excludeCredentials: [{ id: Uint8Array.of(0), type: 'public-key', transports: ['usb'] }],
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    attestation: 'none',
  })
  expect(requestOptionsOf({ challenge: '_-8', rpId: 'tv.example.com', userVerification: 'required' })).toEqual({
    challenge: Uint8Array.of(255, 239),
    rpId: 'tv.example.com',
    userVerification: 'required',
    allowCredentials: [],
  })
})

test('the answers of the browser become text, for a new passkey and for one that signs in', () => {
  const bytes = (text: string): ArrayBuffer => Uint8Array.from(Buffer.from(text)).buffer
  const given = (response: object): PublicKeyCredential =>
    ({ id: 'aWQ', rawId: bytes('id'), type: 'public-key', response }) as unknown as PublicKeyCredential
  const text = (of: string): string => Buffer.from(of).toString('base64url')
  const common = { id: 'aWQ', rawId: text('id'), type: 'public-key', clientExtensionResults: {} }
  const client = { clientDataJSON: bytes('client') }
  const made = { ...client, attestationObject: bytes('attested'), getTransports: () => ['usb'] }
  expect(answerOf(given(made))).toEqual({
    ...common,
    response: { clientDataJSON: text('client'), attestationObject: text('attested'), transports: ['usb'] },
  })
  const used = { ...client, authenticatorData: bytes('data'), signature: bytes('signed'), userHandle: bytes('user') }
  expect(answerOf(given(used))).toEqual({
    ...common,
    response: {
      clientDataJSON: text('client'),
      authenticatorData: text('data'),
      signature: text('signed'),
      userHandle: text('user'),
    },
  })
})

test('a page says what keeps it from passkeys', () => {
  const at = (hostname: string, isSecureContext = true) =>
    obstacleIn({ isSecureContext, location: { hostname }, PublicKeyCredential: {} })
  expect(at('tv.example.com')).toBeNull()
  expect(at('localhost')).toBeNull()
  expect(at('tv.example.com', false)).toBe('insecure')
  for (const address of ['127.0.0.1', '[::1]', '203.0.113.7']) expect(at(address)).toBe('address')
  expect(obstacleIn({ isSecureContext: true, location: { hostname: 'localhost' } })).toBe('unsupported')
})
