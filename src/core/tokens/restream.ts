import {
  isMasked,
  hasSecretUrl,
  maskedUrl,
  readTargetUrl,
  refuseKey,
  refuseTargetHost,
  shownKeyOf,
  HAS_NO_KEY,
  type TargetPolicy,
} from '../restream/targets.ts'
import { type FieldErrors, Problems } from '../validation/problems.ts'
import type { BodyReader } from '../validation/bodyReader.ts'
import { checkPlainText } from '../validation/text.ts'
import type { NewTarget, RestreamTarget, TargetKeys } from './types.ts'

interface Item {
  url: string
  key?: string | null
  label?: string | null
  enabled?: boolean | null
  transcode?: boolean | null
}

interface Body {
  restream?: readonly Item[] | null
  updateRestream?: readonly Item[] | null
}

/** The targets of a body; undefined when it has none. */
export function canonicalRestream(body: BodyReader<Body>, name: keyof Body): NewTarget[] | undefined {
  if (!body.names(name)) return undefined
  const seen = new Set<string>()
  return body.items(name).map(({ at, item: { url: given, key: givenKey, label, enabled, transcode } }) => {
    checkItem(at, { url: given, key: givenKey ?? '' }, body.problems)
    // One with secrets in it is sealed like a key.
    const [url, key] = [maskedUrl(given), hasSecretUrl(given) ? given : (givenKey ?? '')]
    checkPlainText(`${at}.label`, label ?? undefined, body.problems)
    if (seen.size === seen.add(`${url} ${key}`).size) body.problems.add(at, 'is listed twice')
    return { url, key, label: label ?? '', enabled: enabled ?? true, transcode: transcode ?? false }
  })
}

function checkItem(at: string, { url, key }: Pick<NewTarget, 'url' | 'key'>, problems: Problems): void {
  const read = readTargetUrl(url)
  if (!read.ok) problems.add(`${at}.url`, read.error)
  const refusal = !hasSecretUrl(url) ? refuseKey(key) : key === '' ? null : HAS_NO_KEY
  if (refusal !== null) problems.add(`${at}.key`, refusal)
}

const NOT_KEPT = 'has the end of a key, of no target with this URL; send the whole key'

/** Targets as they are stored, and their keys apart from them. */
export interface SplitTargets {
  readonly restream: readonly RestreamTarget[]
  readonly keys: TargetKeys
}

/**
 * Parts targets from their keys. A key as records show it stands for that of the stored target with the same URL, so that
 * a client can send back what it has read.
 */
export function splitTargets(
  targets: readonly NewTarget[],
  stored: readonly RestreamTarget[],
  problems: Problems,
): SplitTargets {
  const keys = targets.map(({ url, key }, at) => {
    if (!isMasked(key)) return { key }
    const kept = stored.findIndex((one) => one.url === url && one.shownKey === shownKeyOf(key))
    if (kept < 0) problems.add(`restream[${at}].${hasSecretUrl(url) ? 'url' : 'key'}`, NOT_KEPT)
    return { kept }
  })
  const shown = targets.map(({ key, ...target }) => ({
    ...target,
    shownKey: shownKeyOf(key),
  }))
  return { restream: shown, keys }
}

/** What is wrong with the hosts of targets; null: nothing. */
export function refuseTargets(targets: readonly RestreamTarget[], policy: TargetPolicy): FieldErrors | null {
  const problems = new Problems()
  for (const [at, { url }] of targets.entries()) {
    const refusal = refuseTargetHost(new URL(url), policy)
    if (refusal !== null) problems.add(`restream[${at}].url`, refusal)
  }
  const settled = problems.settle(null)
  return settled.ok ? null : settled.error
}
