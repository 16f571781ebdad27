import { isShownPullUrl, readPullUrl } from '../pulls/source.ts'
import type { TargetPolicy } from '../restream/targets.ts'
import { INGEST_FACTS, type IngestType } from './types.ts'

/**
 * Why a source may not be dialled, as a predicate after the field name; null: it may. This checks the text only:
 * each dial checks the addresses that a name resolves to.
 */
export function refuseSource(type: IngestType, text: string, policy: TargetPolicy): string | null {
  const { schemes } = INGEST_FACTS[type]
  const scheme = /^[a-z]+:/i.exec(text)?.[0].toLowerCase() ?? ''
  const isOfType = schemes.some((one) => one === scheme)
  if (!isOfType) return `must begin with ${schemes.map((one) => `${one}//`).join(' or ')}`
  if (isShownPullUrl(text)) return 'is not the one that the record shows: send the whole of it'
  const url = readPullUrl(text, policy)
  return url.ok ? null : url.error
}
