import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'

/** What a browser and its authenticator sign; a test may change each. */
export interface Ceremony {
  readonly challenge: string
  readonly origin: string
  readonly rpId: string
  /** The user is present and verified. */
  readonly flags?: number
  readonly counter?: number
  readonly type?: string
  /** Certificates in the attestation. */
  readonly certificates?: readonly Buffer[]
}

const PRESENT_AND_VERIFIED = 0x05
const HAS_KEY = 0x40

/** A security key in software, with one passkey (ES256). */
export class Authenticator {
  readonly id = randomBytes(16).toString('base64url')
  readonly #privateKey: KeyObject
  readonly #coseKey: Buffer

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
    const coordinates = [x, y].map((text) => Buffer.from(text, 'base64url'))
    this.#privateKey = privateKey
    this.#coseKey = map([
      [integer(1), integer(2)],
      [integer(3), integer(-7)],
      [integer(-1), integer(1)],
      [integer(-2), bytes(coordinates[0]!)],
      [integer(-3), bytes(coordinates[1]!)],
    ])
  }

  /** What `navigator.credentials.create` gives, as JSON. */
  create(ceremony: Ceremony): object {
    const id = Buffer.from(this.id, 'base64url')
    const length = Buffer.from([0, id.length])
    const key = Buffer.concat([Buffer.alloc(16), length, id, this.#coseKey])
    const authData = Buffer.concat([authenticatorData(ceremony, HAS_KEY), key])
    const clientData = clientDataOf({ type: 'webauthn.create', ...ceremony })
    const { certificates } = ceremony
    const signature = this.#sign(authData, clientData)
    const list = certificates && head(4, certificates.length, Buffer.concat(certificates.map(bytes)))
    const statement: [Buffer, Buffer][] = list
      ? [
          [text('alg'), integer(-7)],
          [text('sig'), bytes(signature)],
          [text('x5c'), list],
        ]
      : []
    const attestation = map([
      [text('fmt'), text(list ? 'packed' : 'none')],
      [text('attStmt'), map(statement)],
      [text('authData'), bytes(authData)],
    ])
    return this.#answer({
      clientDataJSON: clientData.toString('base64url'),
      attestationObject: attestation.toString('base64url'),
      transports: ['internal'],
    })
  }

  /** What `navigator.credentials.get` gives, as JSON. */
  get(ceremony: Ceremony): object {
    const authData = authenticatorData(ceremony, 0)
    const clientData = clientDataOf({ type: 'webauthn.get', ...ceremony })
    return this.#answer({
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: authData.toString('base64url'),
      signature: this.#sign(authData, clientData).toString('base64url'),
    })
  }

  #answer(response: object): object {
    return { id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {}, response }
  }

  #sign(authData: Buffer, clientData: Buffer): Buffer {
    return createSign('sha256').update(authData).update(sha256(clientData)).sign(this.#privateKey)
  }
}

const sha256 = (data: Buffer | string): Buffer => createHash('sha256').update(data).digest()

function authenticatorData({ rpId, flags = PRESENT_AND_VERIFIED, counter = 0 }: Ceremony, more: number): Buffer {
  const tail = Buffer.alloc(5)
  tail.writeUInt8(flags | more)
  tail.writeUInt32BE(counter, 1)
  return Buffer.concat([sha256(rpId), tail])
}

const clientDataOf = ({ type, challenge, origin }: Ceremony): Buffer =>
  Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))

/** CBOR (RFC 8949): a major type with its argument, and what follows. */
function head(major: number, value: number, rest: Buffer = Buffer.alloc(0)): Buffer {
  const first = major << 5
  const long = Buffer.from([first | 25, value >> 8, value & 0xff])
  const short = value < 24 ? Buffer.from([first | value]) : Buffer.from([first | 24, value])
  return Buffer.concat([value > 255 ? long : short, rest])
}

const integer = (value: number): Buffer => (value < 0 ? head(1, -1 - value) : head(0, value))
const bytes = (value: Buffer): Buffer => head(2, value.length, value)
const text = (value: string): Buffer => head(3, Buffer.byteLength(value), Buffer.from(value))
const map = (entries: readonly [Buffer, Buffer][]): Buffer => head(5, entries.length, Buffer.concat(entries.flat()))
