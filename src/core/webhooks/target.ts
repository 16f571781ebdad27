import { err, ok, type Result } from '../../base/result.ts'
import { refuseHost, refuseLogin, refuseText } from '../validation/outboundUrl.ts'

const SETTING = 'webhooks.allowPrivateTargets'

/**
 * Whether a webhook may point to this URL. The refusal is a sentence for its owner. This checks the text only; each
 * dial checks the addresses that a name resolves to.
 */
export function checkTarget(text: string, allowPrivate: boolean): Result<URL, string> {
  const unreadable = refuseText(text)
  if (unreadable !== null) return err(unreadable)
  const url = URL.parse(text)
  if (!url) return err('must be an absolute URL, such as https://hooks.example.com/sluice')
  const reason = refuseScheme(url, allowPrivate) ?? refuseHost(url, allowPrivate, SETTING)
  return reason === null ? ok(url) : err(reason)
}

function refuseScheme(url: URL, allowPrivate: boolean): string | null {
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) {
    return allowPrivate
      ? 'must begin with https:// or http://'
      : `must begin with https:// (the setting \`${SETTING}\` allows http://)`
  }
  return refuseLogin(url) ?? (url.port === '0' ? 'must not use port 0' : null)
}
