import { existsSync, statSync } from 'node:fs'
import { authoritiesProblem } from '../base/authorities.ts'
import { areFor } from '../base/certificateNames.ts'
import { isoDay } from '../base/time.ts'
import { authorityFile } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import { tlsSource } from '../config/tlsSource.ts'
import { daysLeft, expiresSoon } from '../core/certificates/renewal.ts'
import { type Said, sentencesOf } from '../core/notices.ts'
import type { Context } from '../commands/context.ts'
import { AcmeCertificate } from '../tls/acme/renewal.ts'
import type { Certificate } from '../tls/certificate.ts'
import { readFiles } from '../tls/files.ts'
import { type Finding, found } from '../core/examination.ts'
import { portProblem } from './port.ts'

const CHECK = 'TLS'

/** The certificate of a server that runs with this configuration, and its other ports. */
export async function checkTls(config: Config, nowMs: number): Promise<Finding[]> {
  const source = tlsSource(config)
  if (!source.ok) return [found('FAIL', CHECK, 'text', { text: source.error })]
  if (source.value === 'files') return [await checkFiles(config, nowMs), ...checkKeyFile(config.tls.keyFile)]
  if (source.value === 'self-signed') return [found('ok', CHECK, 'tls_authority', { file: authorityFile(config) })]
  const problem = source.value === 'acme' ? authoritiesProblem('tls.acme.caFile', config.tls.acme.caFile) : null
  return problem === null ? [] : [found('FAIL', CHECK, 'text', { text: problem })]
}

async function checkFiles(config: Config, nowMs: number): Promise<Finding> {
  const read = await readFiles(config.tls)
  return read.ok ? checkCertificate(config, read.value, nowMs) : failed('FAIL', read.error)
}

function checkCertificate({ server }: Config, certificate: Certificate, nowMs: number): Finding {
  const { names, expiresMs } = certificate
  const date = isoDay(expiresMs)
  if (expiresMs <= nowMs) return found('FAIL', CHECK, 'certificate_expired', { date })
  const host = server.publicUrl === '' ? null : new URL(server.publicUrl).hostname
  if (host !== null && !areFor(names, host))
    return found('FAIL', CHECK, 'certificate_other', { names: names.join(', '), host })
  const left = { days: daysLeft(certificate, nowMs), date }
  return expiresSoon(certificate, nowMs)
    ? found('warn', CHECK, 'certificate_soon', left)
    : found('ok', CHECK, 'certificate', left)
}

/** Groups may read it on purpose: certbot and Kubernetes give it to one. */
function checkKeyFile(path: string): Finding[] {
  const mode = process.platform === 'win32' || !existsSync(path) ? 0 : statSync(path).mode
  if ((mode & 0o007) === 0) return []
  return [found('warn', 'private key', 'private_key_open', { file: path })]
}

/** What the store has of ACME. */
export async function checkAcme(ctx: Context, config: Config): Promise<Finding[]> {
  const source = tlsSource(config)
  if (!source.ok || source.value !== 'acme') return []
  const acme = new AcmeCertificate({ ...ctx, ...config.tls.acme })
  const [stored, problem] = [await acme.stored(), await acme.problem()]
  if (stored === null) return [problem === null ? found('warn', CHECK, 'certificate_none') : failed('FAIL', problem)]
  return [checkCertificate(config, stored, ctx.clock.now()), ...(problem === null ? [] : [failed('warn', problem)])]
}

const failed = (outcome: 'warn' | 'FAIL', said: Said): Finding => ({
  ...found(outcome, CHECK, 'text', { text: said.message }),
  sentences: sentencesOf(said),
})

/** Whether RTMPS and the redirect can have their ports. */
export async function checkTlsPorts({ server, rtmp, tls }: Config): Promise<Finding[]> {
  const ports = [
    { check: 'RTMPS port', host: rtmp.host, port: rtmp.enabled ? rtmp.tlsPort : 0, key: 'rtmp.tlsPort' },
    { check: 'redirect port', host: server.host, port: tls.redirectPort, key: 'tls.redirectPort' },
  ] as const
  const used = ports.filter(({ port }) => port !== 0)
  return Promise.all(
    used.map(async ({ check, host, port, key }) => {
      const problem = await portProblem(host, port, { port: key, host: 'the host of this port' })
      return problem === null
        ? found('ok', check, 'port_free', { host, port })
        : found('FAIL', check, 'text', { text: problem.message })
    }),
  )
}
