import type { Answer, readWebhookDelivery } from '#api/tokens.ts'

/** The request of a delivery, but for its signature. */
export type SentRequest = NonNullable<Answer<typeof readWebhookDelivery>['sent']>

/** The most characters of a body that the page draws; the whole body can be copied. */
export const SHOWN_MOST = 20_000

export interface ShownBody {
  readonly text: string
  /** The body is longer than what is shown. */
  readonly isCut: boolean
}

/** A body as the page shows it: JSON with line breaks, another text as it is. */
export function shownBody(body: string): ShownBody {
  const text = indented(body)
  return { text: text.slice(0, SHOWN_MOST), isCut: text.length > SHOWN_MOST }
}

function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}

/** The headers of a request, one a line. */
export const headerLines = ({ contentType, headers }: Pick<SentRequest, 'contentType' | 'headers'>): string =>
  [['content-type', contentType], ...Object.entries(headers)].map(([name, value]) => `${name}: ${value}`).join('\n')

/** The bytes of an image that was sent; null: the body is no image. */
export function imageOf({ contentType, encoding, body }: SentRequest): Blob | null {
  if (encoding !== 'base64' || !/^image\/(jpeg|png|webp)$/.test(contentType)) return null
  return new Blob([Uint8Array.from(atob(body), (letter) => letter.charCodeAt(0))], { type: contentType })
}
