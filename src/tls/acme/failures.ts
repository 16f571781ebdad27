const MAX_TEXT = 300

/** Why an order failed and what to do, as one sentence. What others have sent is cut. */
export function explainFailure(error: unknown, directoryUrl: string): string {
  const { message, code = '' } = error as NodeJS.ErrnoException
  const host = new URL(directoryUrl).host
  const text = message.replaceAll(/\s+/g, ' ').slice(0, MAX_TEXT)
  if (/^(ECONN|ENOTFOUND|EAI_|EHOST|ENET|ETIMEDOUT|ABORT_ERR|UND_ERR_)/.test(code))
    return `No certificate: ${host} cannot be reached (${code}). Check tls.acme.directoryUrl and that this machine may connect to it`
  if (/CERT|SELF_SIGNED|ISSUER|SIGNATURE/.test(code))
    return `No certificate: ${host} has a certificate that is not trusted (${code}). Set tls.acme.caFile to its authority`
  if (/rate ?limit|too many/i.test(text))
    return `No certificate: ${host} has a rate limit: ${text}. Sluice tries again by itself`
  return `No certificate: ${text}. The domains must lead to this server, and port 80 to tls.redirectPort`
}
