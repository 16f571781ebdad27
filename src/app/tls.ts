import { type App, CannotStart } from './app.ts'
import { authoritiesProblem } from '../base/authorities.ts'
import { authorityFile } from '../config/paths.ts'
import { liveView } from '../config/holder.ts'
import type { Config } from '../config/schema.ts'
import { tlsSource } from '../config/tlsSource.ts'
import type { Repetition } from '../base/repeat.ts'
import { err, ok, type Result } from '../base/result.ts'
import { isoTime } from '../base/time.ts'
import type { Said } from '../core/notices.ts'
import { AcmeCertificate } from '../tls/acme/renewal.ts'
import { challengeAnswer } from '../tls/acme/values.ts'
import { followFiles, readFiles, unlessExpired } from '../tls/files.ts'
import { followMachine, namesOfMachine, openAuthority, selfSigned, temporaryCertificate } from '../tls/selfSigned.ts'
import { ServedCertificate } from '../tls/served.ts'
import { NOTHING_PREPARED, type Prepare } from './prepared.ts'

/** TLS of this process: the certificate of every handshake. */
export interface Tls {
  readonly certificate: ServedCertificate
  /** The certificate of our own authority, PEM; null: another one has signed. */
  readonly authority: string | null
  /** What an authority has to find over HTTP; absent: this server has no ACME. */
  readonly challenge?: (token: string) => Promise<string | null>
  /** Keeps the certificate current from now on. An authority may want to connect to this server at once. */
  follow(): Repetition
  /** Absent: nothing of it depends on keys that apply at run time. */
  readonly prepare?: Prepare
}

/** Null: Sluice speaks no TLS. @throws CannotStart when there is no usable certificate */
export async function openTls(app: App): Promise<Tls | null> {
  switch (orThrow(tlsSource(app.config))) {
    case 'files':
      return fromFiles(app)
    case 'self-signed':
      return fromOwnAuthority(app)
    case 'acme':
      return fromAcme(app)
    case null:
      return null
  }
}

/** Checks the files that a server would use. The error is a sentence for the operator. */
export async function tryTls(config: Config): Promise<Result<unknown, string>> {
  const source = tlsSource(config)
  if (!source.ok) return source
  if (source.value === 'files') return inWords(await readFiles(config.tls))
  const problem = source.value === 'acme' ? authoritiesProblem('tls.acme.caFile', config.tls.acme.caFile) : null
  return problem === null ? source : err(problem)
}

async function fromFiles(app: App): Promise<Tls> {
  const { ctx } = app
  const certificate = new ServedCertificate(orThrow(inWords(await readFiles(app.config.tls))), ctx.log)
  const { expiresMs } = certificate.current
  if (expiresMs <= ctx.clock.now())
    ctx.log.error({ expiredAt: isoTime(expiresMs) }, 'the certificate has expired, so clients refuse it: renew it')
  const prepare: Prepare = async ({ tls: { certFile, keyFile } }) => {
    const now = app.config.tls
    if (certFile === now.certFile && keyFile === now.keyFile) return ok(NOTHING_PREPARED)
    const found = unlessExpired(await readFiles({ certFile, keyFile }), certificate, ctx.clock.now())
    return found.ok ? ok({ ...NOTHING_PREPARED, take: () => certificate.replace(found.value) }) : inWords(found)
  }
  const files = liveView(() => app.config.tls)
  return { certificate, authority: null, follow: () => followFiles(files, certificate, ctx), prepare }
}

async function fromOwnAuthority(app: App): Promise<Tls> {
  const { config, ctx } = app
  const authority = orThrow(await openAuthority(authorityFile(config), ctx))
  const names = (): string[] => namesOfMachine(configuredNames(app.config))
  const certificate = new ServedCertificate(await selfSigned(authority, names(), ctx), ctx.log)
  const follow = (): Repetition => followMachine(authority, certificate, { ...ctx, names })
  return { certificate, authority: authority.cert, follow }
}

/** Until there is a certificate, handshakes get one that no client trusts. */
async function fromAcme({ config, ctx }: App): Promise<Tls> {
  const { acme } = config.tls
  const renewed = new AcmeCertificate({ ...ctx, ...acme })
  const stored = await renewed.stored()
  const first = stored ?? (await temporaryCertificate(acme.domains, ctx))
  const certificate = new ServedCertificate(first, ctx.log, stored === null)
  const challenge = (token: string): Promise<string | null> => challengeAnswer(ctx, token)
  return { certificate, authority: null, challenge, follow: () => renewed.follow(certificate) }
}

/** The names in addresses that Sluice shows, and those for certificates. */
export function configuredNames({ server, tls }: Config): string[] {
  const shown = [server.publicUrl, server.nodeUrl].filter((url) => url !== '').map((url) => new URL(url).hostname)
  return [...tls.selfSignedNames, ...shown.map((name) => name.replace(/^\[|\]$/g, ''))]
}

const inWords = <T>(result: Result<T, Said>): Result<T, string> => (result.ok ? result : err(result.error.message))

function orThrow<T>(result: Result<T, string>): T {
  if (!result.ok) throw new CannotStart(result.error)
  return result.value
}
