import { webcrypto } from 'node:crypto'
import { isIP } from 'node:net'
import * as x509 from '@peculiar/x509'
import type { Random } from '../base/random.ts'
import type { Validity } from '../core/certificates/renewal.ts'
import type { PemPair } from './certificate.ts'

const KEY = { name: 'ECDSA', namedCurve: 'P-256' }
const SIGNING = { ...KEY, hash: 'SHA-256' }
/** An extended key usage: the certificate of a server (RFC 5280 section 4.2.1.12). */
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'

x509.cryptoProvider.set(webcrypto)

/** Makes an authority that signs certificates of servers, and no other authorities. */
export async function issueAuthority(name: string, validity: Validity, random: Random): Promise<PemPair> {
  const keys = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...headOf(validity, random),
    name: [{ CN: [name] }],
    signingAlgorithm: SIGNING,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return { cert: pemOf(certificate), key: await keyPem(keys.privateKey) }
}

/** Makes the certificate of a server, with that of the authority as its chain. */
export async function issueLeaf(
  authority: PemPair,
  names: readonly string[],
  validity: Validity,
  random: Random,
): Promise<PemPair> {
  const issuer = new x509.X509Certificate(authority.cert)
  const signingKey = await importKey(authority.key)
  const keys = await webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.create({
    ...headOf(validity, random),
    subject: [{ CN: ['Sluice'] }],
    issuer: issuer.subject,
    signingAlgorithm: SIGNING,
    signingKey,
    publicKey: keys.publicKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([SERVER_AUTH]),
      new x509.SubjectAlternativeNameExtension(names.map(generalName)),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  })
  return { cert: pemOf(certificate) + authority.cert, key: await keyPem(keys.privateKey) }
}

const headOf = ({ beginsMs, expiresMs }: Validity, random: Random) => ({
  // Positive, and at most 20 bytes long (RFC 5280 section 4.1.2.2).
  serialNumber: `4${random.bytes(16).toString('hex').slice(1)}`,
  notBefore: new Date(beginsMs),
  notAfter: new Date(expiresMs),
})

const generalName = (value: string): x509.JsonGeneralName => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value })

const pemOf = (certificate: x509.X509Certificate): string => `${certificate.toString('pem')}\n`

async function keyPem(key: webcrypto.CryptoKey): Promise<string> {
  const der = await webcrypto.subtle.exportKey('pkcs8', key)
  return `${x509.PemConverter.encode(der, 'PRIVATE KEY')}\n`
}

const importKey = (pem: string): Promise<webcrypto.CryptoKey> =>
  webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(pem), KEY, false, ['sign'])
